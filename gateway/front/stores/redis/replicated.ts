import { StoreUnavailable } from '../../../../shared/store-errors.ts'
import { answerOf } from './answer.ts'
import type { RedisOptions } from './script.ts'

/** How long is waited: a replica says once a second what it has. */
const waitMs = 3_000
const lookEveryMs = 50

/**
 * Waits until a replica has all that was written of a hash, where its server has a replica. It looks, in place of asking with
 * WAIT, which would hold up all decisions of the connection.
 */
export async function replicated(
  { connection }: Pick<RedisOptions, 'connection'>,
  hash: string,
  what: string,
): Promise<void> {
  // With the name of a hash, a Cluster asks the server that has it.
  const look = async (): Promise<string> => {
    const answers = await answerOf(connection.pipeline().exists(hash).info('replication').exec())
    const [, info] = answers?.[1] ?? []
    return typeof info === 'string' ? info : ''
  }
  const first = await look()
  const written = Number(/^master_repl_offset:(\d+)/m.exec(first)?.[1] ?? 0)
  const giveUpAt = performance.now() + waitMs
  for (let text = first; !hasReplicaAt(text, written); text = await look()) {
    if (performance.now() > giveUpAt) {
      throw new StoreUnavailable(
        `no replica of Redis had “${what}” within ${waitMs / 1_000} s, and a fail-over may lose it: repeat it by its id`,
      )
    }
    await new Promise((resolve) => void setTimeout(resolve, lookEveryMs))
  }
}

function hasReplicaAt(text: string, written: number): boolean {
  const replicas = text.match(/^slave\d+:.*$/gm) ?? []
  return (
    replicas.length === 0 ||
    replicas.some((line) => Number(/offset=(\d+)/.exec(line)?.[1] ?? 0) >= written)
  )
}
