import type { Batch } from '../../counts/batch.ts'
import { keyedScript, type Argument, type RedisOptions } from './script.ts'

export type BatchScript<Line> = Readonly<{
  /** A script that batches.lua stands before. */
  file: string
  hashOf: (line: Line) => string
  /** How long a hash is kept after its last change. */
  keepSeconds: number
  /** The script's own arguments for the lines of one hash. */
  argsOf: (lines: readonly Line[]) => readonly Argument[]
}>

/** Makes the function that adds batches, each once: all lines of one hash in one step. */
export function addsOnce<Line>(
  { connection, timeoutMs, breaker }: RedisOptions,
  { file, hashOf, keepSeconds, argsOf }: BatchScript<Line>,
): (batch: Batch<Line>) => Promise<void> {
  const add = keyedScript({ connection, timeoutMs, breaker, prelude: 'batches.lua', file })
  return async ({ by, number, lines }) => {
    await Promise.all(
      [...grouped(lines, hashOf)].map(([hash, some]) =>
        add(hash, by, number, keepSeconds, ...argsOf(some)),
      ),
    )
  }
}

/** Items by a name of each. */
export function grouped<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const name = nameOf(item)
    const others = groups.get(name)
    if (others) others.push(item)
    else groups.set(name, [item])
  }
  return groups
}
