export type { Caller } from './front/keys/caller.ts'
export type { GuardedRequest } from './front/request-record.ts'
export type { Terms } from './front/keys/terms.ts'
export type { Config } from './front/config/config.ts'
export { ConfigError } from './office/config/config-error.ts'
export { configOf, loadConfig } from './office/config/load.ts'
export type { ConfigFile } from './office/config/file.ts'
export { fleetOfOne } from './front/fleet/single-member.ts'
export { ownQuestions, type Answerer, type FleetQuestions } from './front/fleet/questions.ts'
export type { RefusedMinute, TimelineStore } from './front/counts/timeline-store.ts'
export type { FleetNews, FleetState, FleetStore, Member, SeenMember } from './front/fleet/store.ts'
export type { FindCaller, OwnCaller } from './front/keys/own-callers.ts'
export type { Key, Secret, StoredKey } from './front/keys/key.ts'
export { hashOf, isWellFormed, newKeyId, newToken } from './front/keys/token.ts'
export type { Limits } from './front/limits/limits.ts'
export type { Plan } from './front/limits/plan.ts'
export { tollgate, tollgate as default, type Refused, type TollgateOptions } from './plugin.ts'
export { TollgateError } from './office/app/ask.ts'
export type { KeyChange, KeyFilter, NewGrant, NewKey, Tollgate } from './office/app/tollgate.ts'
export { serverOptions } from './front/http/server-options.ts'
export type { BanRules } from './front/limits/conduct.ts'
export type { Ask, Decision } from './front/limits/step.ts'
export type { Added, KeyListener, KeyStore, Named, Watch } from './front/keys/store.ts'
export type { Ban, BanListener, QuotaStore } from './front/limits/store.ts'
export type { StrangerPoints, StrangerStore } from './front/limits/stranger-store.ts'
export type { AuditEntry, AuditQuery, AuditStore, Change } from './front/records/audit-store.ts'
export type { KeyUses, LastUseStore, TokenUse } from './front/keys/last-use-store.ts'
export type { RefusalChunk, RefusalIndex, RefusalStore } from './front/counts/refusal-store.ts'
export type { CountStore } from './front/counts/waiting.ts'
export type {
  Batch,
  CountBatch,
  CountLine,
  Counts,
  Lines,
  Merging,
  Space,
} from './front/shelves/counts.ts'
export type { Document, Documents, PutOptions } from './front/shelves/documents.ts'
export { listStart, type Entry, type List, type Lists } from './front/shelves/lists.ts'
export type { Messages } from './front/shelves/messages.ts'
export type { OwnStores } from './front/stores/own/stores.ts'
export type { Tally, TallyStore } from './front/counts/tally-store.ts'
export type { NoticeStore } from './front/records/notice-store.ts'
export { openStores } from './front/stores/open.ts'
export type { Stores } from './front/stores/stores.ts'
export { StoreUnavailable } from '../shared/store-errors.ts'
export {
  verifySignature,
  type ReceivedRequest,
  type VerifiedCaller,
} from '../shared/verify-signature.ts'
