import type { CountStore } from '../../counts/batch.ts'
import { keyedScript, type Argument, type RedisOptions } from './script.ts'

/** A space of counts in Redis, in hashes. */
export type CountSpace<Line> = Readonly<{
  /** A script that count-space.lua stands before; it merges lines with the stored ones. */
  file: string
  hashOf: (line: Line) => string
  /** How long a hash is kept after an addition. */
  keepSeconds: number
  /** The script's own arguments for the lines of one hash. */
  argsOf: (lines: readonly Line[]) => readonly Argument[]
}>

/** Adds batches, each once: all lines of one hash in one step. */
export function countSpace<Line>(
  { connection, timeoutMs, breaker }: RedisOptions,
  { file, hashOf, keepSeconds, argsOf }: CountSpace<Line>,
): CountStore<Line> {
  const merge = keyedScript({ connection, timeoutMs, breaker, file })
  return {
    async add({ by, number, lines }) {
      await Promise.all(
        [...grouped(lines, hashOf)].map(([hash, some]) =>
          merge(hash, by, number, keepSeconds, ...argsOf(some)),
        ),
      )
    },
  }
}

function grouped<Item>(items: readonly Item[], nameOf: (item: Item) => string) {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const name = nameOf(item)
    const others = groups.get(name)
    if (others) others.push(item)
    else groups.set(name, [item])
  }
  return groups
}
