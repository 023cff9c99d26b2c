import { script, type RedisOptions, type Script } from './script.ts'

export type KeyNames = ReturnType<typeof keyNames>

/** The names of keys in Redis. They share one slot of a Cluster, because of the braces. */
export function keyNames(prefix: string) {
  const name = (what: string): string => `${prefix}{keys}:${what}`
  return {
    secrets: name('secrets'),
    records: name('records'),
    versions: name('versions'),
    /** The ids of keys that an unfinished import has added. */
    pending: name('pending'),
    /** The count of changes. */
    version: name('version'),
    /** The channel of changes. */
    channel: name('changed'),
    /** The lock of the import that runs. */
    lock: name('import'),
    lines: name('lines'),
    /** The version up to which all lines are made. */
    linedUpTo: name('lined'),
    /** The last uses of keys. */
    used: name('used'),
    /** The record of the store itself. */
    store: name('store'),
  }
}

/** Makes what binds scripts to some of these names. */
export function keyScripts(options: RedisOptions) {
  const names = keyNames(options.prefix)
  return (file: string, ...bound: readonly (keyof KeyNames)[]): Script =>
    script(
      { ...options, file },
      bound.map((each) => names[each]),
    )
}
