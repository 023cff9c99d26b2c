import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Connection } from './connect.ts'

/** A Lua script of this folder, run as one atomic step. */
export type Script = (...args: readonly (string | number)[]) => Promise<unknown>

/**
 * Binds a script to the names that it works on, which must share one slot of a Cluster. It is sent
 * by its digest; a server that doesn't know it, after a restart, a fail-over or a flush, gets it whole.
 */
export function script(connection: Connection, file: string, names: readonly string[]): Script {
  const source = readFileSync(new URL(file, import.meta.url), 'utf8')
  const digest = hash('sha1', source)
  return async (...args) => {
    try {
      return await connection.evalsha(digest, names.length, ...names, ...args)
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
      return connection.eval(source, names.length, ...names, ...args)
    }
  }
}
