type Limits = Readonly<{ perMinute?: number | string; perDay?: number | string }>

export type Key = Readonly<{
  id: string
  name: string
  plan: string
  state: 'active' | 'disabled' | 'expired' | 'revoked'
  account?: string
  /** Whether it may have refusals acted. */
  test?: true
  /** The end of a plan that is for a time. */
  until?: string
  limits?: Limits & Readonly<{ until?: string }>
  /** The plan and limits after the end of temporary ones. */
  afterwards?: Readonly<{ plan: string; limits: Limits | null }>
  createdAt: string
  expiresAt?: string
  revokedAt?: string
  bannedUntil?: string
  note?: string
  methods?: readonly string[]
  paths?: readonly string[]
  addresses?: readonly string[]
  lastUsedAt: string | null
  oldToken?: Readonly<{ until: string; lastUsedAt: string | null }>
}>

type Window = Readonly<{ limit: number; remaining: number; reset: number; used: number }>

export type Standing = Readonly<{
  quota: string
  offered: boolean
  minute: Window | null
  day: Window | null
  strikes: number
  bannedUntil: number | null
  grants: readonly Readonly<{
    perDay: number | null
    perMinute: number | null
    by: string
    note: string | null
  }>[]
}>

export type KeyDetails = Key & Readonly<{ standing: Standing }>

/** A key of a list; its standing is absent if its counters are damaged. */
export type KeyOnPage = Key & Readonly<{ standing?: Standing; refusedToday?: number }>

/** A page of `GET /admin/keys?standing`. */
export type KeyPage = Readonly<{ keys: readonly KeyOnPage[]; next: string | null }>

export type TimelineLine = Readonly<{
  at: string
  what: string
  code?: string
  reason?: string
  count?: number
  limit?: number | null
  used?: number | null
  by?: string
  before?: unknown
  after?: unknown
}>

export type Timeline = Readonly<{ sentence: string; lines: readonly TimelineLine[] }>

export type Usage = Readonly<{
  day?: string
  admitted: number
  points: number
  refused: Readonly<Record<string, number>>
  windows: Readonly<{ minute: number; day: number }>
}>

export type Ban = Readonly<{ id: string; name: string; until: string }>
