import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runNpm } from './npm.mjs'
import { digestOf, root, SetupError, showProgress } from './shared.mjs'

const packages = join(root, 'node_modules')
const aside = join(root, '.cache', 'packages')
const stampFile = join(packages, '.tollgate')

/**
 * Installs the packages that this checkout still lacks: those that running needs, or all, which tests need. A script of
 * package.json ends with one sentence and exit code 1 if they can't be had.
 */
export async function prepareOrExit({ forTests = false } = {}, more = () => undefined) {
  try {
    if (!isInstalled(forTests)) await install(forTests)
    return await more()
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

/** Names what was installed. The version of Node isn't part of it: nothing in node_modules depends on that. */
function stampOf(withAll) {
  const lock = digestOf([join(root, 'package-lock.json')])
  return `${lock} ${process.platform} ${process.arch}${withAll ? ' all' : ''}`
}

function isInstalled(withAll) {
  const stamp = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : ''
  return stamp === stampOf(true) || (!withAll && stamp === stampOf(false))
}

async function install(withAll) {
  const done = showProgress(() => 'Installing packages (up to a minute the first time)')
  try {
    putAside()
    // No package of the lock file has a script that has to run.
    const args = ['ci', '--ignore-scripts', ...(withAll ? [] : ['--omit=dev'])]
    await runNpm(args, { log: 'setup.log' })
    trySqlite()
    writeFileSync(stampFile, stampOf(withAll))
  } catch (error) {
    done(false)
    throw error
  }
  rmSync(aside, { recursive: true, force: true })
  done(true)
}

/** Its native part may not fit this machine, and may end its process by a signal: it is tried in one of its own. */
function trySqlite() {
  const script = `new (require('better-sqlite3'))(':memory:')`
  const options = { cwd: root, encoding: 'utf8' }
  const { status, signal, stderr } = spawnSync(process.execPath, ['-e', script], options)
  if (status === 0) return
  const reason = /^\w*Error: (.*)/m.exec(stderr)?.[1] ?? `it ended by ${signal ?? status}`
  throw new SetupError(`better-sqlite3 was installed but does not work here: ${reason}.`)
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
