import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { openStores } from '../../gateway/front/stores/open.ts'
import type { Stores } from '../../gateway/front/stores/stores.ts'
import type { Server } from './server.ts'

export type Parts = Readonly<{
  /** The setting of the store; a file of its own without it. */
  store?: string
  routes?: number
  workers?: number
  strangers?: string
  adminPort?: number
  perDay?: number
  traces?: string
  tls?: string
  env?: Readonly<Record<string, string>>
  isProbed?: boolean
  /** The port at which a proxy asks for decisions; then it forwards nothing, and is asked there. */
  decidePort?: number
}>

/** Settings of the allocator, as images and units have them (config/deploy/Dockerfile). */
const memory = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072' }

/** A gateway as it is deployed: the program, a file for its configuration, and its store. */
export type BenchGateway = Readonly<{
  server: Server
  /** Works on its stores, while it doesn't run. */
  within: (act: (stores: Stores) => Promise<void>) => Promise<void>
  /** Another gateway with a copy of its file. */
  copy: (name: string, parts: Parts) => BenchGateway
  /** Saves the configuration with another limit, which a gateway that runs follows. */
  save: (perDay: number) => void
}>

export function gatewayAt(
  upstream: string,
  folder: string,
  name: string,
  parts: Parts = {},
): BenchGateway {
  const file = join(folder, `${name}.db`)
  const config = join(folder, `${name}.yaml`)
  const { store = `file: "${file}"`, env = {}, isProbed = false, decidePort } = parts
  const save = (perDay?: number): void => {
    writeFileSync(config, yamlOf(upstream, { ...parts, store, ...(perDay ? { perDay } : {}) }))
  }
  save()
  const { store: settings } = parseConfig(yamlOf(upstream, { ...parts, store }), {}, name)
  return {
    server: {
      program: 'gateway/main.ts',
      env: { TOLLGATE_CONFIG: config, LOG_LEVEL: 'warn', ...memory, ...env },
      isProbed,
      ...(decidePort ? { url: `http://127.0.0.1:${decidePort}` } : {}),
    },
    within: async (act) => {
      const stores = await openStores(settings, { forCommandLine: true })
      try {
        await act(stores)
      } finally {
        await stores.close()
      }
    },
    copy: (name, parts) => {
      copyFileSync(file, join(folder, `${name}.db`))
      return gatewayAt(upstream, folder, name, parts)
    },
    save,
  }
}

function yamlOf(upstream: string, parts: Parts): string {
  const { store = '', routes = 1, workers = 1, adminPort = 0, perDay = 1e9 } = parts
  const { strangers = '{ perMinute: unlimited, perDay: 1000000000 }' } = parts
  const traces = parts.traces ? `traces: ${parts.traces}` : ''
  const tls = parts.tls ? `, tls: ${parts.tls}` : ''
  const { decidePort } = parts
  const decide = decidePort ? `decide: { port: ${decidePort}, for: caddy }` : ''
  const to = decidePort ? 'none' : 'animals'
  const moreRoutes = Array.from(
    { length: routes - 1 },
    (_, i) => `  - { path: /r${i}/*, upstream: animals, cost: ${i % 5} }\n`,
  ).join('')
  return `
plans:
  bench: { perMinute: unlimited, perDay: ${perDay} }
  sixty: { perMinute: 60, perDay: ${perDay} }
  full: { perMinute: 1, perDay: ${perDay}, bans: off }
listen: { host: 127.0.0.1, port: 0${tls} }
admin: { host: 127.0.0.1, port: ${adminPort} }
workers: ${workers}
upstreams: { animals: { targets: [ "${upstream}" ], health: { path: / } } }
routes:
  - { path: /v1/*, upstream: ${to} }
${moreRoutes}deprecations: [ { operation: "GET /v1/old/{id}", since: 2025-12-05 } ]
strangers: ${strangers}
${decide}
${traces}
store: { ${store} }
`
}
