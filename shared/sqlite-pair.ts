import Sqlite from 'better-sqlite3'
import { createRequire } from 'node:module'

/** The installed better-sqlite3 doesn't work with this Node; the message says what to install. */
export class UnfitSqlite extends Error {
  override name = 'UnfitSqlite'
}

export type Pair = Readonly<{
  /** The version of better-sqlite3. */
  sqlite: string
  /** The version of Node, and of its Node-API. */
  node: string
  napi: string | undefined
}>

/**
 * Opens a file with better-sqlite3. Throws `UnfitSqlite` if the installed version would crash this Node,
 * at once or at some later garbage collection, or if it can't be loaded.
 */
export function connect(file: string, options: Sqlite.Options): Sqlite.Database {
  const pair = installedPair()
  const fault = faultOf(pair)
  if (fault !== undefined) throw new UnfitSqlite(`${fault}: ${remedyFor(pair)}`)
  try {
    return new Sqlite(file, options)
  } catch (error) {
    if (!(error instanceof Error) || isOfDatabase(error)) throw error
    const [reason] = error.message.split('\n')
    const message = `better-sqlite3 ${pair.sqlite} can't be loaded by Node ${pair.node} (${reason})`
    throw new UnfitSqlite(`${message}: ${remedyFor(pair)}`, { cause: error })
  }
}

/** Why a version of better-sqlite3 must not run on a Node; `undefined` if it may. */
export function faultOf({ sqlite, node, napi }: Pair): string | undefined {
  // Version 13 is built for Node-API 10, which Node 20 lacks: it crashes at the first database.
  if (Number.parseInt(sqlite) >= 13) {
    return Number(napi) >= 10 ? undefined : `better-sqlite3 ${sqlite} crashes Node ${node}`
  }
  // Earlier versions use Node's ObjectWrap. Since Node 24.19 it aborts when a statement is collected while no
  // JavaScript runs.
  if (Number.parseInt(node) < 24) return undefined
  return `better-sqlite3 ${sqlite} makes Node ${node} abort at random`
}

function remedyFor({ napi }: Pair): string {
  const version = Number(napi) >= 10 ? '13.2.0' : '12.11.1'
  return `install the version that fits with npm install --no-save better-sqlite3@${version}`
}

/** Whether an error comes from SQLite or better-sqlite3 itself, and not from Node's loading of it. */
function isOfDatabase(error: Error): boolean {
  return error instanceof Sqlite.SqliteError || error instanceof TypeError
}

function installedPair(): Pair {
  const about: unknown = createRequire(import.meta.url)('better-sqlite3/package.json')
  const { version } = about as { version: string }
  return { sqlite: version, node: process.versions.node, napi: process.versions['napi'] }
}
