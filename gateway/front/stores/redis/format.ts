import { readerOf, Type } from '../../../../shared/schema.ts'
import { goneMs } from '../../fleet/store.ts'
import { StoreUnavailable, UpgradeUnderWay } from '../../../../shared/store-errors.ts'
import { answerOf } from './answer.ts'
import type { Connection } from './connect.ts'
import { epochIn, format } from './epoch.ts'
import { keyNames } from './key-names.ts'

/** The time between two looks while gateways of a former version are there, or Redis hasn't answered yet. */
const lookEveryMs = 1_000

const memberFrom = readerOf(
  Type.Object({ name: Type.String(), format: Type.Optional(Type.Integer()) }),
)

/**
 * The format of a Redis. While gateways are there that know only the former one, counters are written so that both
 * understand them. When these gateways have left, the first one that notices brings the store up to date.
 */
export class RedisFormat {
  readonly #connection: Connection
  readonly #prefix: string
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** The gateways that know only the former format; `undefined` until Redis has told the format. */
  #former: readonly string[] | undefined

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection
    this.#prefix = prefix
  }

  /** Whether counters must be written for a former version, too. What both understand is right until it is known. */
  get isBesideFormer(): boolean {
    return this.#former?.length !== 0
  }

  get warnings(): readonly string[] {
    return this.#former && this.#former.length > 0 ? [besideText(this.#former)] : []
  }

  /** Looks at the format, and again until no gateway of a former version is there. Throws if the format is a later one. */
  async look(): Promise<void> {
    clearTimeout(this.#timer)
    const stored = await this.#read().catch(() => undefined)
    if (stored !== undefined && stored > format) throw new Error(laterText(stored))
    if (stored === format) this.#former = []
    else if (stored !== undefined) await this.#bringUpToDate().catch(() => undefined)
    if (!this.isBesideFormer || this.#isClosed) return
    this.#timer = setTimeout(() => void this.look().catch(() => undefined), lookEveryMs).unref()
  }

  /** Throws where a change can't be written so that gateways of a former version understand it. */
  async requireOwn(): Promise<void> {
    if (this.isBesideFormer) await this.look()
    if (!this.#former) throw new StoreUnavailable('Redis doesn’t tell its format')
    if (this.#former.length > 0) throw new UpgradeUnderWay(besideText(this.#former))
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #read(): Promise<number> {
    const names = keyNames(this.#prefix)
    // Redis tells no format before it has a record.
    await epochIn(this.#connection, names)
    return Number((await answerOf(this.#connection.hget(names.store, 'format'))) ?? 1)
  }

  async #bringUpToDate(): Promise<void> {
    const former = await this.#formerGateways()
    if (former.length === 0) {
      await answerOf(this.#connection.hset(keyNames(this.#prefix).store, 'format', format))
    }
    this.#former = former
  }

  /** The names of the gateways that have beaten lately and know no later format than 1. */
  async #formerGateways(): Promise<string[]> {
    const [connection, prefix] = [this.#connection, this.#prefix]
    const [seconds] = await answerOf(connection.time())
    const sinceMs = Number(seconds) * 1_000 - goneMs
    const ids = await answerOf(connection.zrangebyscore(`${prefix}{fleet}:beats`, sinceMs, '+inf'))
    if (ids.length === 0) return []
    const lines = await answerOf(connection.hmget(`${prefix}{fleet}:lines`, ...ids))
    return lines.flatMap((line) => {
      // The hash by which configurations are compared comes first.
      const member = line === null ? undefined : memberFrom(line.slice(line.indexOf(' ') + 1))
      return member && (member.format ?? 1) < format ? [member.name] : []
    })
  }
}

function laterText(stored: number): string {
  return (
    `what is in Redis has format ${stored}, and this version of Tollgate knows formats up to ${format}: ` +
    'start the version that wrote it, or set another store.prefix'
  )
}

function besideText(former: readonly string[]): string {
  return (
    `gateways of a former version use this Redis, too (${former.join(', ')}): until they have left, points can't be granted, ` +
    'months keep their first day, and each decision costs Redis more'
  )
}
