import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, SetupError } from './shared.mjs'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
const networkFault = /ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|ECONNRESET/

/** The npm that runs this script, with this Node; else the one on the path. */
export function npmCommand() {
  const { npm_execpath } = process.env
  return npm_execpath?.endsWith('.js') ? [process.execPath, npm_execpath] : ['npm']
}

/** Runs npm in a folder, with its output in a file of .cache; a failure becomes a sentence. */
export async function runNpm(args, { folder = root, log, settings = {} }) {
  const file = join(root, '.cache', log)
  mkdirSync(join(root, '.cache'), { recursive: true })
  const output = openSync(file, 'w')
  const [command, ...first] = npmCommand()
  const code = await new Promise((resolve, reject) => {
    const child = spawn(command, [...first, ...args], {
      cwd: folder,
      env: { ...process.env, ...settings },
      stdio: ['ignore', output, output],
      detached: true,
    })
    // npm leaves its compilers running when it is stopped, so that the whole group is ended.
    const end = () => child.pid && endGroup(child.pid)
    const stop = () => process.exit(130)
    // Before anything else that is to be done at the end, which is to find nobody at work.
    process.prependListener('exit', end)
    signals.forEach((signal) => process.on(signal, stop))
    child.on('error', reject)
    child.on('close', (code) => {
      process.off('exit', end)
      signals.forEach((signal) => process.off(signal, stop))
      resolve(code ?? 1)
    })
  })
  if (code !== 0) {
    throw new SetupError(
      `${explain(readFileSync(file, 'utf8'))} All of npm's output is in .cache/${log}.`,
    )
  }
}

function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // It may have ended a moment ago, which isn't heard any more by a process that is exiting.
    if (error.code !== 'ESRCH') throw error
  }
}

/** Where a setting of npm's was made: in which file, or in the environment. */
export function originOf(name) {
  // npm hands all of its settings on in the environment, so that those of files are looked for without it.
  const others = Object.entries(process.env).filter(
    ([each]) => each.toLowerCase() !== `npm_config_${name}`,
  )
  let origin = 'from the environment'
  let file = ''
  for (const line of askNpm(['config', 'list'], Object.fromEntries(others)).split('\n')) {
    file = /^; "\w+" config from (.+)$/.exec(line)?.[1] ?? file
    if (new RegExp(`^${name} *=`).test(line)) origin = `from ${file}`
  }
  return origin
}

function askNpm(args, env = process.env) {
  const [command, ...first] = npmCommand()
  return spawnSync(command, [...first, ...args], { cwd: root, env, encoding: 'utf8' }).stdout ?? ''
}

/** A setting of npm's, wherever it was made. */
export function npmSetting(name) {
  const value = askNpm(['config', 'get', name]).trim()
  return value && value !== 'undefined' && value !== 'null' ? value : undefined
}

function explain(log) {
  const faults = log.split('\n').filter((line) => networkFault.test(line))
  // The compiler of native parts and the fetcher of ready-made ones have other sources than npm.
  const ofRegistry = faults.find((line) => !/\bgyp (?:http|ERR!)|prebuild-install/.test(line))
  if (ofRegistry) {
    return (
      `npm can't reach its registry (${networkFault.exec(ofRegistry)}). Check the network, or the ` +
      `proxy and registry settings of npm, and try again.`
    )
  }
  const [ofCompiler] = faults
  if (ofCompiler) {
    return (
      `SQLite can't be compiled: Node's headers can't be fetched (${networkFault.exec(ofCompiler)}); ` +
      `npm's registry did answer. Use a Node that comes with include/node, or set npm_config_nodedir ` +
      `to the folder of one of the same version, or use Node 22 or newer, where nothing is compiled.`
    )
  }
  const reason =
    /npm (?:error|ERR!) (?!code|syscall|path|errno|dest|A complete)(.+)/.exec(log)?.[1] ??
    'it gave no reason'
  return `npm could not install the packages: ${reason}.`
}
