import { randomUUID } from 'node:crypto'
import { within } from '../../../../shared/within.ts'
import type { Messages } from '../../shelves/messages.ts'
import type { Connection } from './connect.ts'
import { mastersOf } from './scan.ts'

/** The time between two looks. */
const lookEveryMs = 10_000

/** The longest that a start waits for a look. */
const longestLookMs = 1_000

/** Looks at the settings and permissions of a Redis that a gateway depends on and that no answer to a request shows. */
export function conditionOf(connection: Connection, messages: Messages) {
  const channel = `look:${randomUUID()}`
  let warnings: readonly string[] = []
  let timer: NodeJS.Timeout | undefined

  async function lookOn(): Promise<void> {
    const policies = new Set<string>()
    const readPolicies = async (): Promise<void> => {
      const texts = mastersOf(connection).map((server) => server.info('memory'))
      for (const text of await Promise.all(texts)) {
        const [, policy = ''] = /^maxmemory_policy:(\S+)/m.exec(text) ?? []
        if (policy !== '' && policy !== 'noeviction') policies.add(policy)
      }
    }
    const looks: Readonly<Record<string, () => Promise<unknown>>> = {
      TIME: () => connection.time(),
      EVAL: () => connection.eval('return 1', 0),
      EVALSHA: () => connection.evalsha('0'.repeat(40), 0),
      PUBLISH: () => messages.send(channel, ''),
      SUBSCRIBE: () => messages.listen(channel, () => undefined),
      INFO: readPolicies,
    }
    const asked = Object.entries(looks).map(async ([command, ask]) =>
      (await isRefused(ask)) ? [command] : [],
    )
    const missing = (await Promise.all(asked)).flat()
    warnings = [
      ...[...policies].map(evictionWarning),
      ...(missing.length > 0 ? [permissionWarning(missing)] : []),
    ]
  }

  /** Looks once; gives up waiting for a Redis that doesn't answer. */
  const look = () => within(longestLookMs, lookOn())

  return {
    get warnings() {
      return warnings
    },

    look,

    /** Looks again and again from now on. */
    watch() {
      timer = setInterval(() => void look(), lookEveryMs).unref()
    },

    close: () => clearInterval(timer),
  }
}

/** Whether Redis refuses a command to this user or has it under no name; other failures tell nothing of it. */
async function isRefused(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask()
    return false
  } catch (error) {
    return /NOPERM|unknown command/i.test(error instanceof Error ? error.message : '')
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
