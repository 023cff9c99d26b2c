import { spawn } from 'node:child_process'
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
export async function runNpm(args, { folder = root, log }) {
  const file = join(root, '.cache', log)
  mkdirSync(join(root, '.cache'), { recursive: true })
  const output = openSync(file, 'w')
  const [command, ...first] = npmCommand()
  const code = await new Promise((resolve, reject) => {
    const child = spawn(command, [...first, ...args], {
      cwd: folder,
      stdio: ['ignore', output, output],
      detached: true,
    })
    // npm may have started others, so that the whole group is ended.
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

function explain(log) {
  const fault = networkFault.exec(log)
  if (fault) {
    return (
      `npm can't reach its registry (${fault}). Check the network, or the ` +
      `proxy and registry settings of npm, and try again.`
    )
  }
  const reason =
    /npm (?:error|ERR!) (?!code|syscall|path|errno|dest|A complete)(.+)/.exec(log)?.[1] ??
    'it gave no reason'
  return `npm could not install the packages: ${reason}.`
}
