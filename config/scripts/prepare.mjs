import { spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { build } from './build.mjs'
import { digestOf, root, SetupError, showProgress } from './shared.mjs'

const stampFile = join(root, 'node_modules', '.tollgate')
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
const logFile = join(root, '.cache', 'setup.log')

/** Whatever this checkout still lacks before it can run: its packages, SQLite's native part, a build. */
export async function prepare() {
  if (!isInstalled()) await install()
  await build()
}

/** The set-up for a script of package.json: one sentence and exit code 1 if it can't be had. */
export async function prepareOrExit(more = () => undefined) {
  try {
    await prepare()
    return more()
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

function stamp() {
  const lock = digestOf([join(root, 'package-lock.json')])
  return `${lock} ${process.platform} ${process.arch} ${process.versions.modules}`
}

function isInstalled() {
  return existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp()
}

async function install() {
  requireCompiler()
  mkdirSync(dirname(logFile), { recursive: true })
  rmSync(join(root, 'node_modules', 'better-sqlite3'), { recursive: true, force: true })
  const done = showProgress(() =>
    existsSync(join(root, 'node_modules', 'better-sqlite3', 'build'))
      ? 'Compiling SQLite for this Node (up to a minute, once)'
      : 'Installing packages (about a minute the first time)',
  )
  const code = await runNpm(['ci'])
  done(code === 0)
  if (code !== 0) throw new SetupError(explain(readFileSync(logFile, 'utf8')))
  tryDatabase()
  writeFileSync(stampFile, stamp())
}

/** Runs npm with what SQLite's build needs on a machine that can't fetch Node's headers. */
function runNpm(args) {
  const log = openSync(logFile, 'w')
  const [command, ...first] = process.env.npm_execpath?.endsWith('.js')
    ? [process.execPath, process.env.npm_execpath]
    : ['npm']
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...first, ...args], {
      cwd: root,
      env: { ...process.env, ...buildSettings() },
      stdio: ['ignore', log, log],
      detached: true,
    })
    // npm leaves its compilers running when it is stopped, so that the whole group is ended.
    const stop = () => process.kill(-child.pid, 'SIGKILL') && process.exit(130)
    signals.forEach((signal) => process.on(signal, stop))
    child.on('error', reject)
    child.on('close', (code) => {
      signals.forEach((signal) => process.off(signal, stop))
      resolve(code ?? 1)
    })
  })
}

function buildSettings() {
  // A page of 20 took SQLite 15 µs at -O1, 13 at -O2 and at -O3, which compiles longest.
  const settings = { CFLAGS: '-O2', CXXFLAGS: '-O2' }
  const prefix = dirname(dirname(realpathSync(process.execPath)))
  if (existsSync(join(prefix, 'include', 'node', 'node.h'))) settings.npm_config_nodedir = prefix
  if (mustCompile()) settings.npm_config_build_from_source = 'true'
  return settings
}

/** There is no ready-made SQLite for Node 20; for newer ones it is fetched, and compiled if not. */
function mustCompile() {
  return process.versions.node.startsWith('20.')
}

function requireCompiler() {
  const missing = missingTools()
  if (mustCompile() && missing.length > 0) throw new SetupError(compilerSentence(missing))
}

function missingTools() {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const isThere = (tool) => folders.some((folder) => existsSync(join(folder, tool)))
  return ['g++', 'make', 'python3'].filter((tool) => !isThere(tool))
}

function compilerSentence(missing) {
  return (
    `SQLite has to be compiled, and ${missing.join(', ')} can't be found. Install what is missing ` +
    `(on Debian and Ubuntu: apt-get install g++ make python3) and try again.`
  )
}

function explain(log) {
  const network = /ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|ECONNRESET/.exec(log)
  if (network) {
    return (
      `npm can't reach its registry (${network[0]}). Check the network, or the proxy and registry ` +
      `settings of npm, and try again. All of npm's output is in .cache/setup.log.`
    )
  }
  const missing = missingTools()
  if (missing.length > 0 && /gyp/.test(log)) return compilerSentence(missing)
  const reason =
    /npm error (?!code|syscall|path|errno|dest|A complete)(.+)/.exec(log)?.[1] ??
    'it gave no reason'
  return `npm could not install the packages: ${reason}. All of its output is in .cache/setup.log.`
}

/** A wrong binary ends its process by a signal, so that it is tried in a process of its own. */
function tryDatabase() {
  const script = `new (require('better-sqlite3'))(':memory:')`
  const { status } = spawnSync(process.execPath, ['-e', script], { cwd: root })
  if (status === 0) return
  throw new SetupError(
    'SQLite was installed but does not work with this Node. Remove node_modules and try again.',
  )
}
