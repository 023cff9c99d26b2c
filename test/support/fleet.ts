import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { parseConfig } from '../../gateway/config/load.ts'
import { KeyDesk } from '../../gateway/operations/key-desk.ts'
import type { KeySettings } from '../../gateway/keys/settings.ts'
import { openStores } from '../../gateway/stores/open.ts'
import { configFor, type Written } from './gateway.ts'
import { caller } from './http.ts'
import { startProcess, type Service } from './process.ts'

export type Fleet = Readonly<{
  urls: readonly string[]
  processes: readonly Service[]
  /** The configuration that all of them read. */
  file: string
  /** Makes a key of the first plan, and gives the header that its caller sends. */
  key: (settings?: Partial<KeySettings>) => Promise<{ authorization: string }>
}>

export type FleetOptions = Written &
  Readonly<{
    upstream: string
    /** The members of the configuration's `store`; $DIR is a folder of the test's own. */
    store?: string
    /** Additional environment of each gateway; one gateway by default. */
    environments?: readonly Record<string, string>[]
  }>

/** Gateways as processes of their own, on one configuration and one store. */
export async function startFleet(t: Test, options: FleetOptions): Promise<Fleet> {
  const { upstream, store = 'file: $DIR/gateway.db', environments = [{}] } = options
  const folder = t.testdir()
  const file = join(folder, 'gateway.yaml')
  const yaml = configFor(upstream, store.replace('$DIR', folder), options)
  writeFileSync(file, yaml)
  const processes = environments.map((env) =>
    startProcess(t, 'gateway/main.ts', {
      env: { TOLLGATE_CONFIG: file, LOG_LEVEL: 'warn', ...env },
    }),
  )
  const urls = await Promise.all(processes.map(({ url }) => url))
  const { store: settings, plans } = parseConfig(yaml, environments[0] ?? {}, 'fleet.yaml')
  const stores = openStores(settings, { forCommandLine: true })
  t.teardown(() => stores.close())
  const desk = new KeyDesk({ store: stores.keys, plans, clock: Date.now })
  const [plan = ''] = plans.keys()
  const key: Fleet['key'] = async (settings) => ({
    authorization: `Bearer ${(await desk.create({ name: 'x', plan, ...settings })).token}`,
  })
  return { urls, processes, file, key }
}

/** The most memory that a process has had so far, in MB. */
export function peakMemory({ child }: Service): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1_024
}

/** How many gateways count in the store, as one of them sees it; its log is at info. */
export async function gatewaysSeenBy({ output }: Service): Promise<number> {
  const [, admin = ''] = /Server listening at ([^"]+)/.exec(output()) ?? []
  const { text } = await caller(admin)('GET', '/metrics')
  return Number(/^tollgate_gateways (\d+)$/m.exec(text)?.[1])
}
