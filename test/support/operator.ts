import { readFileSync, writeFileSync } from 'node:fs'
import type { Test } from 'tap'
import { runCommand } from './command.ts'
import { startFleet, startServed, type Fleet, type FleetOptions } from './fleet.ts'
import { caller, json } from './http.ts'
import type { Running } from './process.ts'
import { anyPort } from './redis.ts'

export const token = '5fd0c87a1b93e624-operator'
export const unlimited = 'plans: { p: { perMinute: unlimited, perDay: 1000000 } }'

type Options = FleetOptions & Readonly<{ adminMore?: string }>

/** A gateway with an admin address, in this process, and what an operator does with both. */
export async function start(t: Test, options: Options) {
  return operated(await startServed(t, withAdmin(options)))
}

/** The same as a process of its own. */
export async function startAsProcess(t: Test, options: Options) {
  return operated(await startFleet(t, withAdmin(options)))
}

function withAdmin({ adminMore = '', ...options }: Options): FleetOptions {
  const [environment] = options.environments ?? []
  return {
    more: unlimited,
    ...options,
    environments: [{ ADMIN_TOKEN: token, LOG_LEVEL: 'info', ...environment }],
    admin: `{ host: 127.0.0.1, port: ${anyPort}${adminMore} }`,
  }
}

function operated<Each extends Running>(fleet: Fleet<Each>) {
  const [url = ''] = fleet.urls
  const [gateway] = fleet.processes
  if (!gateway) throw new Error('one was asked for')
  const admin = `http://127.0.0.1:${fleet.port}`
  const headers = { authorization: `Bearer ${token}` }
  const operate = caller(admin)
  /** Asks the admin address with the token. */
  const ask: typeof operate = (method, path, body, more) =>
    operate(method, path, body, { ...headers, ...more })
  const reload = () => ask('POST', '/admin/config/reload')
  const state = async () => json(await ask('GET', '/admin/config'))
  const text = readFileSync(fleet.file, 'utf8')
  const write = (change: (text: string) => string): void => writeFileSync(fleet.file, change(text))
  /** Runs the command line on the same configuration. */
  const run = (...args: string[]) => runCommand([...args, '--config', fleet.file], {})
  const runJson = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await run(...args, '--json')).stdout)
  return { ...fleet, url, gateway, admin, operate, ask, reload, state, text, write, run, runJson }
}
