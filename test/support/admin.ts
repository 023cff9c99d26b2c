import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createAdmin } from '../../gateway/admin/app.ts'
import { createMetrics } from '../../gateway/admin/metrics.ts'
import { adminTokensFrom } from '../../gateway/admin/token.ts'
import { readConfig } from '../../gateway/config/load.ts'
import { Reloader } from '../../gateway/config/reload.ts'
import { configFor, startGateway, startUpstream, type GatewayOptions } from './gateway.ts'
import { caller, type Call } from './http.ts'
import { token } from './operator.ts'

export type AdminOptions = GatewayOptions &
  Readonly<{
    /** The tokens of operators; one that `ask` has unless told. */
    tokens?: string
  }>

/** A real gateway in this process, with its configuration in a file and its admin address open. */
export async function startAdmin(t: Test, options: AdminOptions = {}) {
  const { clock = Date.now, log, secret, tokens = token } = options
  const folder = t.testdir()
  const upstream = options.upstream ?? (await startUpstream(t))
  const store = options.store ?? `file: ${join(folder, 'gateway.db')}`
  const gateway = await startGateway(t, { ...options, upstream, store })
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, configFor(upstream.url, store, options))
  const metrics = createMetrics(gateway.app, () => reloader.state)
  const reloader: Reloader = new Reloader({
    file,
    environment: {},
    loaded: readConfig(file, {}),
    change: (config) => gateway.app.change(config),
    hindrances: (config) => gateway.app.core.swaps.hindrances(gateway.app.config, config),
    onAttempt: (result) => metrics.reloaded(result),
  })
  gateway.app.self.fileState = () => reloader.state
  let isStopping = false
  const admin = createAdmin({
    ...{ gateway: gateway.app, reloader, metrics, secret, log, clock },
    tokens: adminTokensFrom(tokens),
    isStopping: () => isStopping,
  })
  const url = await admin.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => admin.close())
  const operate = caller(url)
  /** Asks with a token. */
  const ask: Call = (method, path, body, headers) =>
    operate(method, path, body, { authorization: `Bearer ${token}`, ...headers })
  const write = (change: (text: string) => string): void =>
    writeFileSync(file, change(readFileSync(file, 'utf8')))
  /** Says that it stops, as a signal does. */
  const stop = (): void => {
    isStopping = true
  }
  return { gateway, admin, url, file, operate, ask, write, stop }
}
