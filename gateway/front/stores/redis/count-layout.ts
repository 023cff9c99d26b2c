import type { Merging, Space } from '../../shelves/counts.ts'
import { escaped } from './count-text.ts'
import type { Argument } from './script.ts'

/** The hashes of a `whole` space. A Cluster spreads them, and a call of a script is short for each. */
export const groups = 256

/** The times of a text of a space that is read by key: a text for each time would take twice the memory. */
const timesOfText = 60

/** The letters of counts-add.lua. */
const letters: Readonly<Record<Merging, string>> = { sum: 's', max: 'm', latest: 'l' }

/** Some fields of a hash, and the key of each. */
type Place = Readonly<{ hash: string; fields: readonly string[]; keys: readonly string[] }>

/** How a space lies in Redis. */
export type Layout = Readonly<{
  /** The name of one of its hashes: of a time, of a group of keys, or of a key. */
  hash: (which: string | number) => string
  /** The hash of a key at a time, and the field there. */
  hashOf: (key: string, at: number) => string
  fieldOf: (key: string, at: number) => string
  /** The fields of some keys that have times of a range. */
  placesOf: (keys: readonly string[], from: number, to: number) => readonly Place[]
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
    return {
      ...{ hash, hashOf: (_, at) => hash(at), fieldOf: escaped, args: argsOf(1, '') },
      placesOf(keys, from, to) {
        const fields = keys.map(escaped)
        return range(from, to).map((at) => ({ hash: hash(at), fields, keys }))
      },
    }
  }
  if (readBy === 'whole') {
    const hashOf = (key: string): string => hash(groupOf(key))
    return {
      ...{ hash, hashOf, fieldOf: escaped, args: argsOf(kept, 'time') },
      placesOf: (keys) =>
        keys.map((key) => ({ hash: hashOf(key), fields: [escaped(key)], keys: [key] })),
    }
  }
  const textOf = (at: number): number => Math.floor(at / timesOfText)
  return {
    ...{ hash, hashOf: hash, fieldOf: (_, at) => String(textOf(at)) },
    args: argsOf(timesOfText, 'text', timesOfText),
    placesOf(keys, from, to) {
      const fields = range(textOf(from), textOf(to)).map(String)
      return keys.map((key) => ({ hash: hash(key), fields, keys: fields.map(() => key) }))
    },
  }
}

/** The whole numbers from one to another, both included. */
function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
}

/** The group of a key, by FNV-1a: the same for all gateways. */
function groupOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % groups
}
