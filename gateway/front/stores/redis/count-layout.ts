import type { Merging, Space } from '../../shelves/counts.ts'
import { escaped } from './count-text.ts'
import type { Argument } from './script.ts'

/** The hashes of a `whole` space. A Cluster spreads them, and a call of a script is short for each. */
export const groups = 256

/** The times of a text of a space that is read by key: a text for each time would take twice the memory. */
const timesOfText = 60

/** The letters of counts-add.lua. */
const letters: Readonly<Record<Merging, string>> = { sum: 's', max: 'm', latest: 'l' }

/** How a space lies in Redis. */
export type Layout = Readonly<{
  /** The name of one of its hashes: of a time, of a group of keys, or of a key. */
  hash: (which: string | number) => string
  /** The hash of a key at a time, and the field there. */
  hashOf: (key: string, at: number) => string
  fieldOf: (key: string, at: number) => string
  /** The distance of times that lie in different fields; 0 if all are in one. */
  step: number
  /** The arguments of counts-add.lua that are the same for all batches, from the seconds on. */
  args: readonly Argument[]
}>

export function layoutOf(prefix: string, space: Space): Layout {
  const { name, unitMs, kept, readBy, merge, mostOfKey = 0 } = space
  const hash = (which: string | number): string => `${prefix}{count:${name}:${which}}`
  const argsOf = (times: number, sweep: string, more = 1): Argument[] => {
    const seconds = Math.ceil(((kept + more) * unitMs) / 1_000)
    const how = merge.map((each) => letters[each]).join('')
    return [seconds, times, how, kept, sweep, mostOfKey]
  }
  if (readBy === 'times') {
    return { hash, hashOf: (_, at) => hash(at), fieldOf: escaped, step: 1, args: argsOf(1, '') }
  }
  if (readBy === 'whole') {
    const hashOf = (key: string): string => hash(groupOf(key))
    return { hash, hashOf, fieldOf: escaped, step: 0, args: argsOf(kept, 'time') }
  }
  const fieldOf = (_: string, at: number): string => String(Math.floor(at / timesOfText))
  const args = argsOf(timesOfText, 'text', timesOfText)
  return { hash, hashOf: hash, fieldOf, step: timesOfText, args }
}

/** The group of a key, by FNV-1a: the same for all gateways. */
function groupOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % groups
}
