import type { LimitName } from '../../../shared/windows.ts'
import type { KeyView } from '../../front/keys/view.ts'
import type { BanView } from '../../front/limits/views.ts'
import type { ConfigFile } from '../config/file.ts'
import type { FoundRefusals } from '../explain/refusals-of.ts'
import type { MadeKey } from '../operations/keys/create.ts'
import type { KeyPage } from '../operations/keys/list.ts'
import type { RotatedKey } from '../operations/keys/rotate.ts'
import type { KeyTimeline } from '../operations/keys/timeline.ts'
import type { KeyDetails, QuotaView } from '../operations/quota-desk.ts'

/**
 * The operations of the command line in an app: the same names, checks and results as with `--json`. A key is named by its id,
 * by a name that no other key has, or by its token. A mistake rejects with an error that has a `code`, as refusals have.
 */
export interface Tollgate {
  readonly keys: KeyOperations
  readonly quotas: QuotaOperations
  readonly bans: BanOperations
  /**
   * Puts a configuration in force from the next request on: a path, or the content of a file. Routes and own paths must
   * stay. A mistake throws a `ConfigError`, and the configuration before stays in force.
   */
  reload(config: string | ConfigFile): Promise<ReloadedConfig>
  /** The metrics of this process, in Prometheus' text format. */
  metrics(): Promise<string>
  /** Says why a request was refused, by its `X-Request-Id`, or what was refused of a key lately. */
  explain(id: string): Promise<FoundRefusals | KeyTimeline>
}

export interface KeyOperations {
  /** Makes a key. `key` is its token, which is told this once. */
  create(settings: NewKey): Promise<MadeKey>
  /** A key, and where it stands with limits and bans. */
  show(key: string): Promise<KeyDetails>
  /** The key of a token in any state, and whether the token works; `undefined` for an unknown token, or a JWT that doesn't verify. */
  find(token: string): Promise<(KeyDetails & Readonly<{ works: boolean }>) | undefined>
  /** A page of keys, by name or as `sort` says. */
  list(filter: KeyFilter & KeyPaging): Promise<KeyPage>
  /** All keys that pass the filter, the oldest first; revoked ones only with `all` or their state. */
  list(filter?: KeyFilter): Promise<readonly KeyView[]>
  /** Changes the given settings; `null` takes one away. */
  change(key: string, changes: KeyChange): Promise<KeyDetails>
  /** Gives a key a new token; the old one works for another day, or as long as `overlap` says. */
  rotate(
    key: string,
    options?: Author & Readonly<{ overlap?: string | undefined }>,
  ): Promise<RotatedKey>
  /** Refuses a key until it is enabled. */
  disable(key: string, options?: Author): Promise<KeyDetails>
  enable(key: string, options?: Author): Promise<KeyDetails>
  /** Ends a key for good. */
  revoke(key: string, options?: Author): Promise<KeyDetails>
}

export interface QuotaOperations {
  /** How much of its windows a key has used, and whether it is banned. */
  show(key: string): Promise<QuotaView>
  /** Empties all windows of a key, or of its account. */
  reset(key: string, options?: Author): Promise<QuotaView>
  /** Adds points to the present windows of a key, or of its account. */
  grant(key: string, grant: NewGrant): Promise<QuotaView>
}

export interface BanOperations {
  /** The bans that run. */
  list(): Promise<readonly BanView[]>
  /** Bans a key from now on, for a duration such as `1h`; the note says why. */
  set(
    key: string,
    ban: Author & Readonly<{ for: string; note?: string | undefined }>,
  ): Promise<BanView>
  /** Ends a ban, on every gateway within a second. */
  lift(key: string, options?: Author): Promise<Readonly<{ id: string; lifted: true }>>
}

/** The author of a change, for the audit: `app` by default. */
export interface Author {
  readonly by?: string | undefined
}

/** Points by window. */
type Points<Each> = { readonly [Name in LimitName]?: Each | undefined }

type Limit = number | 'unlimited'

/** A time: a day, an instant with its zone, or a duration from now on such as `30d`. */
type Time = string | Date

export interface NewKey extends Author {
  readonly name: string
  readonly plan: string
  /** Keys of one account share one quota. */
  readonly account?: string | undefined
  /** The id by which your own systems know the customer. */
  readonly reference?: string | undefined
  /** Limits in place of the plan's. */
  readonly limits?: Points<Limit> | undefined
  /** The most that this key may use of its account. */
  readonly cap?: Points<Limit> | undefined
  readonly expiresAt?: Time | undefined
  /** What it is restricted to; all by default. */
  readonly methods?: readonly string[] | undefined
  readonly paths?: readonly string[] | undefined
  readonly addresses?: readonly string[] | undefined
  readonly scopes?: readonly string[] | undefined
  readonly origins?: readonly string[] | undefined
  readonly note?: string | undefined
  /** Whether its owner may act refusals by `X-Gateway-Act`. */
  readonly test?: boolean | undefined
  /** The day, 1 to 28, on which the months of its quota begin. */
  readonly monthFrom?: number | undefined
}

/** Settings to change; those that are left out stay, and `null` takes one away. */
export interface KeyChange extends Author {
  readonly name?: string | undefined
  readonly plan?: string | undefined
  readonly account?: string | null | undefined
  readonly reference?: string | null | undefined
  readonly limits?: Points<Limit | null> | null | undefined
  readonly cap?: Points<Limit | null> | null | undefined
  readonly expiresAt?: Time | null | undefined
  readonly methods?: readonly string[] | null | undefined
  readonly paths?: readonly string[] | null | undefined
  readonly addresses?: readonly string[] | null | undefined
  readonly scopes?: readonly string[] | null | undefined
  readonly origins?: readonly string[] | null | undefined
  readonly note?: string | null | undefined
  readonly monthFrom?: number | undefined
}

/** Points to add to the windows that are named. */
export interface NewGrant extends Author, Points<number> {
  readonly note?: string | undefined
}

export interface KeyFilter {
  /** In name, account, note or reference, or at the beginning of the id. */
  readonly search?: string | undefined
  readonly name?: string | undefined
  readonly plan?: string | undefined
  readonly account?: string | undefined
  readonly reference?: string | undefined
  readonly state?: 'active' | 'disabled' | 'expired' | 'revoked' | undefined
  /** Not used for so long, such as `90d`. */
  readonly unused?: string | undefined
  readonly neverUsed?: boolean | undefined
  /** Only keys whose old token still works and was used within this time. */
  readonly oldTokenUsed?: string | undefined
  /** Revoked keys, too. */
  readonly all?: boolean | undefined
}

export type KeyPaging = Readonly<{
  /** The `next` of the page before. */
  after?: string | undefined
  /** The most requests of today first, admitted or refused ones, or the latest use; it tells all that `standing` does. */
  sort?: 'use' | 'refusals' | 'recent' | undefined
  /** Whether each key's standing and its requests of today are told as well. */
  standing?: boolean | undefined
}> &
  Readonly<{ limit: number }>

export interface ReloadedConfig {
  /** The short name of the text in force. */
  readonly hash: string
  /** Settings that work but make no sense. */
  readonly warnings: readonly string[]
}
