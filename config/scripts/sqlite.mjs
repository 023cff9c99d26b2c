import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { npmSetting, originOf, runNpm } from './npm.mjs'
import { digestOf, root, SetupError } from './shared.mjs'

const source = join(root, 'config', 'node-20')
const workshop = join(root, '.cache', 'node-20')
const place = join(root, 'node_modules', 'better-sqlite3')

/**
 * Node 20 lacks the Node-API of better-sqlite3 13, which crashes there at the first database. It gets
 * version 12, which has no ready-made binary for it. Newer Nodes take what the lock file names, as it comes.
 */
export const hasOwnSqlite = process.versions.node.startsWith('20.')

/** Which better-sqlite3 is to be in node_modules on this Node. */
export function wantedSqlite() {
  const { packages } = read(join(hasOwnSqlite ? source : root, 'package-lock.json'))
  return packages['node_modules/better-sqlite3'].version
}

/** Which one is there; undefined if none is. */
export function installedSqlite() {
  const file = join(place, 'package.json')
  return existsSync(file) ? read(file).version : undefined
}

/**
 * The part that must be compiled for Node 20: outside of node_modules, where it stays while other Nodes are
 * used. Nothing on newer Nodes; throws at once where it can't be compiled.
 */
export function compilation() {
  if (!hasOwnSqlite) return undefined
  const stampFile = join(workshop, '.stamp')
  const lock = digestOf([join(source, 'package-lock.json')])
  const stamp = `${lock} ${process.platform} ${process.arch} ${process.versions.modules}`
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return undefined
  requireCompiler()
  const settings = {
    // A page of 20 took SQLite 15 µs at -O1, 13 at -O2 and at -O3, which compiles longest.
    ...{ CFLAGS: '-O2', CXXFLAGS: '-O2' },
    npm_config_build_from_source: 'true',
    ...headerSettings(),
  }
  return async () => {
    rmSync(workshop, { recursive: true, force: true })
    cpSync(source, workshop, { recursive: true })
    const args = ['ci', '--no-audit', '--no-fund']
    await runNpm(args, { folder: workshop, log: 'sqlite.log', settings })
    writeFileSync(stampFile, stamp)
  }
}

/** Puts what was compiled, and what it needs when it runs, in the place of the lock file's version. */
export function placeSqlite() {
  rmSync(place, { recursive: true, force: true })
  const packages = join(workshop, 'node_modules')
  for (const part of ['package.json', 'LICENSE', 'lib', 'build/Release/better_sqlite3.node']) {
    mkdirSync(dirname(join(place, part)), { recursive: true })
    cpSync(join(packages, 'better-sqlite3', part), join(place, part), { recursive: true })
  }
  for (const name of ['bindings', 'file-uri-to-path']) {
    cpSync(join(packages, name), join(place, 'node_modules', name), { recursive: true })
  }
}

/** A wrong binary ends its process by a signal, so that it is tried in a process of its own. */
export function trySqlite() {
  const script = `new (require('better-sqlite3'))(':memory:')`
  const options = { cwd: root, encoding: 'utf8' }
  const { status, signal, stderr } = spawnSync(process.execPath, ['-e', script], options)
  if (status === 0) return
  const reason =
    abiFault(stderr) ?? /^\w*Error: (.*)/m.exec(stderr)?.[1] ?? `it ended by ${signal ?? status}`
  throw new SetupError(
    `better-sqlite3 ${installedSqlite()} was installed but does not work with Node ` +
      `${process.versions.node}: ${reason}. Remove node_modules and .cache and try again.`,
  )
}

/** Node says in three lines that a binary is for another Node; the numbers are what helps. */
function abiFault(text = '') {
  const [, has, wants] = /NODE_MODULE_VERSION (\d+)[^]*?NODE_MODULE_VERSION (\d+)/.exec(text) ?? []
  return has && `its binary is for module version ${has}, and this Node wants ${wants}`
}

function requireCompiler() {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const isThere = (tool) => folders.some((folder) => existsSync(join(folder, tool)))
  const missing = ['g++', 'make', 'python3'].filter((tool) => !isThere(tool))
  if (missing.length === 0) return
  throw new SetupError(
    `SQLite has to be compiled on Node 20, and ${missing.join(', ')} can't be found. Install what is ` +
      `missing (on Debian and Ubuntu: apt-get install g++ make python3) or use Node 22 or newer.`,
  )
}

/** Where Node's headers are: beside this Node, else where npm says, else it is left to fetch them. */
function headerSettings() {
  const own = dirname(dirname(realpathSync(process.execPath)))
  if (moduleVersionIn(own) === process.versions.modules) return { npm_config_nodedir: own }
  const named = npmSetting('nodedir')
  const found = named && moduleVersionIn(named)
  if (!named || found === process.versions.modules) return {}
  throw new SetupError(
    `SQLite can't be compiled: npm's setting nodedir (${originOf('nodedir')}) names ${named}, which has ` +
      `${found ? `the headers of another Node (module version ${found})` : 'no headers of a Node'}, ` +
      `and Node ${process.versions.node} needs version ${process.versions.modules}. ` +
      `Remove the setting, or set npm_config_nodedir to the folder of this Node.`,
  )
}

function moduleVersionIn(prefix) {
  const file = join(prefix, 'include', 'node', 'node_version.h')
  if (!existsSync(file)) return undefined
  return /#define NODE_MODULE_VERSION (\d+)/.exec(readFileSync(file, 'utf8'))?.[1]
}

function read(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}
