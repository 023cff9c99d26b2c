import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Connection } from './connect.ts'

type Argument = string | number

/** A Lua script of this folder, run as one atomic step on the names that it is bound to. */
export type Script = (...args: readonly Argument[]) => Promise<unknown>

/** The same on one name, which each call gives. */
export type KeyedScript = (name: string, ...args: readonly Argument[]) => Promise<unknown>

/** Binds a script to the names that it works on, which must share one slot of a Cluster. */
export function script(connection: Connection, file: string, names: readonly string[]): Script {
  const run = runner(connection, file)
  return (...args) => run(names.length, names, args)
}

export function keyedScript(connection: Connection, file: string): KeyedScript {
  const run = runner(connection, file)
  return (name, ...args) => run(1, [name], args)
}

/**
 * A script is sent by its digest; a server that doesn't know it, after a restart, a fail-over or a
 * flush, gets it whole.
 */
function runner(connection: Connection, file: string) {
  const source = readFileSync(new URL(file, import.meta.url), 'utf8')
  const digest = hash('sha1', source)
  return async (count: number, names: readonly string[], args: readonly Argument[]) => {
    try {
      return await connection.evalsha(digest, count, ...names, ...args)
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
      return connection.eval(source, count, ...names, ...args)
    }
  }
}
