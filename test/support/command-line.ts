import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { LogSettings } from '../../shared/log.ts'
import { runCommand, type Answers, type Ran } from './command.ts'
import { configFor, startGateway, startUpstream, type Gateway } from './gateway.ts'
import { json } from './http.ts'
import { startProcess, type Service } from './process.ts'
import { folderOf } from './folder.ts'

/**
 * The command line on a store of its own; `store` as in the configuration, where $DIR is a folder of the test's own, and
 * `more` is more of the configuration.
 */
export async function commandLine(t: Test, store: string, more = '') {
  const upstream = await startUpstream(t)
  const folder = folderOf(t)
  const file = join(folder, 'gateway.yaml')
  const own = store.replace('$DIR', folder)
  writeFileSync(file, configFor(upstream.url, own, { more }))
  const env = { TOLLGATE_CONFIG: file }
  const run = (...args: string[]): Promise<Ran> => runCommand(args, env)
  /** Runs a command that is answered what it asks. */
  const runWith = (answers: Answers, ...args: string[]) => runCommand(args, env, answers)
  const runJson = async (...args: string[]) => json((await run(...args, '--json')).stdout)
  /** A gateway on the same configuration, as a process of its own. */
  const gatewayProcess = (more: Record<string, string> = {}): Service =>
    startProcess(t, 'gateway/main.ts', { env: { ...env, LOG_LEVEL: 'trace', ...more } })
  /** A gateway on the same configuration, in this process. */
  const gateway = (log?: LogSettings): Promise<Gateway> =>
    startGateway(t, { upstream, store: own, more, ...(log ? { log } : {}) })
  return { env, file, folder, upstream, run, runWith, runJson, gateway, gatewayProcess }
}
