export type ConfigInForce = Readonly<{
  file: string
  hash: string
  loadedAt: string
  mistakes: readonly string[]
  warnings: readonly string[]
  /** Why the file can't be saved here. */
  unsavable: string | null
  config: Readonly<Record<string, unknown>>
}>

export type ConfigText = Readonly<{ file: string; text: string; hash: string }>

export type ConfigCheck = Readonly<{
  sound: boolean
  mistakes: readonly string[]
  warnings: readonly string[]
  differences: readonly Readonly<{
    place: string
    before: unknown
    after: unknown
    needsRestart?: true
  }>[]
  keys?: Readonly<Record<string, number>>
  refused?: Readonly<Record<string, number>>
}>

export type Fleet = Readonly<{
  summary: string
  differSinceAt: string | null
  gateways: readonly Readonly<{
    name: string
    id: string
    version: string
    startedAt: string
    lastSeenAt: string
    address: string | null
    store: string
    config: Readonly<{ hash: string; sinceAt: string; refuses: string | null }> | null
  }>[]
}>

/** A change of the configuration's file. */
export type Edited = Readonly<{
  file: string
  /** Of the text that was changed. */
  hash: string
  /** Only where the file may be saved. */
  text?: string
  diff: string
  mistakes: readonly string[]
  warnings: readonly string[]
}>
