import { StoreUnavailable } from '../../../../shared/store-errors.ts'
import { answerOf } from './answer.ts'
import type { RedisOptions } from './script.ts'

/** How long is waited. */
const waitMs = 3_000
const lookEveryMs = 10

/**
 * Waits until a replica has all that was written of a hash, where its server has a replica. WAIT would hold up all decisions of
 * the connection. With a millisecond, which may last a tenth of a second, it only has replicas say at once what they have, where
 * the user may say so; else they say it once a second.
 */
export async function replicated(
  { connection }: Pick<RedisOptions, 'connection'>,
  hash: string,
  what: string,
): Promise<void> {
  // With the name of a hash, a Cluster asks the server that has it.
  const look = async (hasToSay = false): Promise<string> => {
    const calls = connection.pipeline().exists(hash)
    if (hasToSay) calls.wait(1, 1)
    const [, info] = (await answerOf(calls.info('replication').exec()))?.at(-1) ?? []
    return typeof info === 'string' ? info : ''
  }
  const first = await look()
  const written = Number(/^master_repl_offset:(\d+)/m.exec(first)?.[1] ?? 0)
  if (hasReplicaAt(first, written) || hasReplicaAt(await look(true), written)) return
  const giveUpAt = performance.now() + waitMs
  while (performance.now() < giveUpAt) {
    await new Promise((resolve) => void setTimeout(resolve, lookEveryMs))
    if (hasReplicaAt(await look(), written)) return
  }
  throw new StoreUnavailable(
    `no replica of Redis had “${what}” within ${waitMs / 1_000} s, and a fail-over may lose it: repeat it by its id`,
  )
}

function hasReplicaAt(text: string, written: number): boolean {
  const replicas = text.match(/^slave\d+:.*$/gm) ?? []
  return (
    replicas.length === 0 ||
    replicas.some((line) => Number(/offset=(\d+)/.exec(line)?.[1] ?? 0) >= written)
  )
}
