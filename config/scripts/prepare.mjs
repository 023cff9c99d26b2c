import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { build } from './build.mjs'
import { runNpm } from './npm.mjs'
import { digestOf, root, SetupError, showProgress } from './shared.mjs'
import {
  compilation,
  hasOwnSqlite,
  installedSqlite,
  placeSqlite,
  trySqlite,
  wantedSqlite,
} from './sqlite.mjs'

const packages = join(root, 'node_modules')
const aside = join(root, '.cache', 'packages')
const stampFile = join(packages, '.tollgate')

/**
 * Makes all that this checkout still lacks before it can run: its packages, SQLite's native part, a build.
 * Work that needs the packages alone may begin before the build.
 */
export async function prepare(beginInstalled = () => undefined) {
  if (!isInstalled()) await install()
  beginInstalled()
  await build()
}

/**
 * Removes packages that only building and testing need. The build still runs, and the next `npm test` installs them again.
 * Not with `npm prune`: it would ask its registry for the SQLite that is not for this Node.
 */
export function withoutDevelopment() {
  rmSync(stampFile, { force: true })
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const unneeded = Object.entries(lock.packages).filter(([, { dev }]) => dev)
  for (const [place] of unneeded) rmSync(join(root, place), { recursive: true, force: true })
  const programs = join(packages, '.bin')
  for (const name of existsSync(programs) ? readdirSync(programs) : []) {
    if (!existsSync(join(programs, name))) rmSync(join(programs, name))
  }
  trySqlite()
}

/** The set-up for a script of package.json: one sentence and exit code 1 if it can't be had. */
export async function prepareOrExit(more = () => undefined, beginInstalled = () => undefined) {
  try {
    await prepare(beginInstalled)
    return await more()
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

/** The same for all Nodes that take the same SQLite: nothing else in node_modules depends on them. */
function stamp() {
  const lock = digestOf([join(root, 'package-lock.json')])
  return `${lock} ${process.platform} ${process.arch} better-sqlite3 ${wantedSqlite()}`
}

function isInstalled() {
  return (
    existsSync(stampFile) &&
    readFileSync(stampFile, 'utf8') === stamp() &&
    installedSqlite() === wantedSqlite()
  )
}

async function install() {
  const compile = compilation()
  const done = showProgress(() =>
    compile
      ? 'Installing packages and compiling SQLite (one to four minutes, once)'
      : 'Installing packages (up to a minute the first time)',
  )
  try {
    putAside()
    // No package of the lock file has a script that has to run.
    const packed = runNpm(['ci', '--ignore-scripts'], { log: 'setup.log' })
    // Compiling takes longer, and leaves a second processor idle.
    await Promise.all([packed, compile?.()])
    if (hasOwnSqlite) placeSqlite()
    trySqlite()
    writeFileSync(stampFile, stamp())
  } catch (error) {
    done(false)
    throw error
  }
  rmSync(aside, { recursive: true, force: true })
  done(true)
}

/**
 * npm empties node_modules before it asks its registry for anything. What is there may be all that can
 * be had just now: it comes back unless the new packages are complete, even after Ctrl-C or a kill.
 */
function putAside() {
  putBack()
  process.on('exit', putBack)
  if (!existsSync(packages)) return
  mkdirSync(join(root, '.cache'), { recursive: true })
  try {
    renameSync(packages, aside)
  } catch {
    // A folder that is mounted can't be moved; npm empties it then.
  }
}

function putBack() {
  if (!existsSync(aside)) return
  // Retried, because an npm that was just killed may still have been writing.
  rmSync(packages, { recursive: true, force: true, maxRetries: 10 })
  renameSync(aside, packages)
}
