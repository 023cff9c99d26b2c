export type { Caller } from './caller.ts'
export type { Config } from './config/config.ts'
export { ConfigError, configOf, loadConfig } from './config/load.ts'
export { desksFor, type Desks, type DesksOptions } from './desks.ts'
export type { ConfigFile } from './config/schema.ts'
export { KeyDesk, type DeskOptions, type Issued } from './keys/desk.ts'
export type { Key, Secret, StoredKey } from './keys/key.ts'
export { hashOf, isWellFormed, newKeyId, newToken } from './keys/token.ts'
export type { Limits, Plan } from './limits/limits.ts'
export { tollgate, tollgate as default, type Refused, type TollgateOptions } from './plugin.ts'
export { serverOptions } from './server-options.ts'
export { QuotaDesk, type QuotaDeskOptions } from './limits/desk.ts'
export type { Ask, BanRules, Decision } from './limits/step.ts'
export type { Added, KeyListener, KeyStore, Watch } from './stores/keys.ts'
export {
  QuotaLimiter,
  type Ban,
  type BanListener,
  type LimiterOptions,
  type QuotaStore,
} from './stores/quota.ts'
export type { AuditEntry, AuditQuery, AuditStore, Change } from './stores/audit.ts'
export type { Tally, TallyStore } from './stores/tallies.ts'
export { openStores, type Stores } from './stores/open.ts'
