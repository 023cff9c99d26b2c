import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { KeyDesk } from '../../gateway/front/keys/key-desk.ts'
import type { KeySettings } from '../../gateway/front/keys/key.ts'
import { openStores } from '../../gateway/front/stores/open.ts'
import { configFor, type Written } from './gateway.ts'
import { caller } from './http.ts'
import { adminOf, startProcess, type Running, type Service } from './process.ts'
import { anyPort, atSomePort, somePort } from './redis.ts'
import { folderOf } from './folder.ts'
import { serveHere } from './served.ts'

export type Fleet<Each extends Running = Service> = Readonly<{
  urls: readonly string[]
  processes: readonly Each[]
  /** The configuration that all of them read. */
  file: string
  /** The port that stands in it for `anyPort`. */
  port: number
  /** Makes a key of the first plan, and gives the header that its caller sends. */
  key: (settings?: Partial<KeySettings>) => Promise<{ authorization: string }>
}>

export type FleetOptions = Written &
  Readonly<{
    upstream: string
    /** The members of the configuration's `store`; $DIR is a folder of the test's own. */
    store?: string
    /**
     * Additional environment of each gateway; one gateway by default. A value `anyPort` is a port of its own; in the
     * configuration it is one for all. Workers need that: they take all ports that they ask for as 0 to be the same one.
     */
    environments?: readonly Record<string, string>[]
    /** A file of this project that each process loads first. */
    preload?: string
  }>

/** Gateways as processes of their own, on one configuration and one store. */
export function startFleet(t: Test, options: FleetOptions): Promise<Fleet> {
  const { preload } = options
  return startAll(t, options, (env) => startProcess(t, 'gateway/main.ts', { env, preload }))
}

/** Gateways as their processes serve them, in this one. */
export function startServed(t: Test, options: FleetOptions): Promise<Fleet<Running>> {
  return startAll(t, options, (environment) => serveHere(t, environment))
}

async function startAll<Each extends Running>(
  t: Test,
  options: FleetOptions,
  begin: (environment: Readonly<Record<string, string>>) => Each,
): Promise<Fleet<Each>> {
  const { upstream, store = 'file: $DIR/gateway.db', environments = [{}] } = options
  const folder = folderOf(t)
  const file = join(folder, 'gateway.yaml')
  const written = configFor(upstream, store.replace('$DIR', folder), options)
  const { yaml, port, own, processes, urls } = await atSomePort(async (port) => {
    const yaml = written.replaceAll(anyPort, String(port))
    writeFileSync(file, yaml)
    const own = await Promise.all(environments.map(withPorts))
    const processes = own.map((env) => begin({ TOLLGATE_CONFIG: file, LOG_LEVEL: 'warn', ...env }))
    try {
      const urls = await Promise.all(processes.map(({ url }) => url))
      return { yaml, port, own, processes, urls }
    } catch (error) {
      for (const { signal } of processes) signal('SIGKILL')
      throw error
    }
  })
  const { store: settings, plans } = parseConfig(yaml, own[0] ?? {}, 'fleet.yaml')
  const stores = await openStores(settings, { forCommandLine: true })
  t.teardown(() => stores.close())
  const desk = new KeyDesk({ store: stores.keys, plans, clock: Date.now })
  const [plan = ''] = plans.keys()
  const key: Fleet['key'] = async (settings) => ({
    authorization: `Bearer ${(await desk.create({ name: 'x', plan, ...settings })).token}`,
  })
  return { urls, processes, file, port, key }
}

async function withPorts(
  environment: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const own = { ...environment }
  for (const [name, value] of Object.entries(own)) {
    if (value === anyPort) own[name] = String(await somePort())
  }
  return own
}

/** The most memory that a process has had so far, in MB. */
export function peakMemory({ child }: Service): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1_024
}

/** How many gateways count in the store, as one of them sees it; its log is at info. */
export async function gatewaysSeenBy(service: Service): Promise<number> {
  const { text } = await caller(await adminOf(service))('GET', '/metrics')
  return Number(/^tollgate_gateways (\d+)$/m.exec(text)?.[1])
}
