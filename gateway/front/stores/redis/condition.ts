import { randomUUID } from 'node:crypto'
import { within } from '../../../../shared/within.ts'
import type { Messages } from '../../shelves/messages.ts'
import type { Connection } from './connect.ts'
import { mastersOf } from './scan.ts'

/** The time between two looks. */
const lookEveryMs = 10_000

/** The longest that a start waits for a look. */
const longestLookMs = 1_000

/** A look at what a Redis allows; it fails if the user may not. */
type Look = readonly [command: string, ask: () => Promise<unknown>]

/** Looks at the settings and permissions of a Redis that a gateway depends on and that no answer to a request shows. */
export class RedisCondition {
  readonly #connection: Connection
  readonly #looks: readonly Look[]
  #timer: NodeJS.Timeout | undefined
  warnings: readonly string[] = []

  constructor(connection: Connection, messages: Messages) {
    const channel = `look:${randomUUID()}`
    this.#connection = connection
    this.#looks = [
      ['TIME', () => connection.time()],
      ['EVAL', () => connection.eval('return 1', 0)],
      ['EVALSHA', () => connection.evalsha('0'.repeat(40), 0)],
      ['PUBLISH', () => messages.send(channel, '')],
      ['SUBSCRIBE', () => messages.listen(channel, () => undefined)],
    ]
  }

  /** Looks again and again from now on. */
  watch(): void {
    this.#timer = setInterval(() => void this.look(), lookEveryMs).unref()
  }

  /** Looks once; gives up waiting for a Redis that doesn't answer. */
  async look(): Promise<void> {
    await within(longestLookMs, this.#look())
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    const policies = new Set<string>()
    const readPolicies = async (): Promise<void> => {
      const texts = mastersOf(this.#connection).map((server) => server.info('memory'))
      for (const text of await Promise.all(texts)) {
        const [, policy = ''] = /^maxmemory_policy:(\S+)/m.exec(text) ?? []
        if (policy !== '' && policy !== 'noeviction') policies.add(policy)
      }
    }
    const looks: readonly Look[] = [...this.#looks, ['INFO', readPolicies]]
    const refused = await Promise.all(looks.map(([command, ask]) => refusedOf(command, ask)))
    const missing = refused.filter((command) => command !== undefined)
    this.warnings = [
      ...[...policies].map(evictionWarning),
      ...(missing.length > 0 ? [permissionWarning(missing)] : []),
    ]
  }
}

/** The command, if Redis refuses it to this user or has it under no name; other failures tell nothing of it. */
async function refusedOf(command: string, ask: Look[1]): Promise<string | undefined> {
  try {
    await ask()
    return undefined
  } catch (error) {
    const text = error instanceof Error ? error.message : ''
    return /NOPERM|unknown command/i.test(text) ? command : undefined
  }
}

function evictionWarning(policy: string): string {
  return `Redis drops keys and counters when its memory is full (maxmemory-policy ${policy}): set it to noeviction`
}

function permissionWarning(missing: readonly string[]): string {
  return (
    `the user of Redis may not use ${missing.join(', ')} for the names and channels of this gateway: give it what ` +
    'config/deploy/README.md lists'
  )
}
