import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createAdmin } from '../../gateway/office/admin/app.ts'
import { createMetrics } from '../../gateway/office/admin/metrics/metrics.ts'
import { adminTokensFrom } from '../../gateway/office/admin/token.ts'
import { askHere, ConfigDesk } from '../../gateway/office/config/desk.ts'
import { hindrances } from '../../gateway/office/config/hindrances.ts'
import { readConfig } from '../../gateway/office/config/load.ts'
import { Reloader } from '../../gateway/office/config/reload.ts'
import {
  OfficeThread,
  officeOf,
  type OfficeThreadOptions,
} from '../../gateway/office/thread/office-thread.ts'
import { configFor, startGateway, startUpstream, type GatewayOptions } from './gateway.ts'
import { caller, tlsCaller, type Call } from './http.ts'
import { token } from './operator.ts'
import { folderOf } from './folder.ts'

export type AdminOptions = GatewayOptions &
  Readonly<{
    /** The tokens of operators; one that `ask` has unless told. */
    tokens?: string
    /** Runs what reads much in a thread, as a gateway of its own does. */
    thread?: Partial<OfficeThreadOptions>
  }>

/** A real gateway in this process, with its configuration in a file and its admin address open. */
export async function startAdmin(t: Test, options: AdminOptions = {}) {
  const { clock = Date.now, log, secret, tokens = token } = options
  const folder = folderOf(t)
  const upstream = options.upstream ?? (await startUpstream(t))
  const store = options.store ?? `file: ${join(folder, 'gateway.db')}`
  const gateway = await startGateway(t, { ...options, upstream, store })
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, configFor(upstream.url, store, options))
  const loaded = readConfig(file, {})
  const { tls } = loaded.config.admin
  const { certificates } = gateway.app.front
  const here = askHere(new ConfigDesk({ ...loaded, file, environment: {} }))
  const metrics = createMetrics(gateway.app, {
    state: () => reloader.state,
    officeRestarts: () => thread?.restarts ?? 0,
  })
  const reloader: Reloader = new Reloader({
    file,
    desk: (name, ...given) => (thread?.desk ?? here)(name, ...given),
    loaded,
    change: (config) => gateway.app.change(config),
    hindrances: (config) => hindrances(gateway.app.front.swaps, gateway.app.config, config),
    onAttempt: (result) => {
      certificates.readAgain()
      metrics.reloaded(result)
    },
  })
  gateway.app.front.self.fileState = () => reloader.state
  const thread =
    options.thread &&
    new OfficeThread({
      ...officeOf(gateway.app),
      begin: () => ({
        file,
        environment: {},
        text: reloader.text,
        config: gateway.app.config,
        secret,
      }),
      ...options.thread,
    })
  t.teardown(() => thread?.close())
  let isStopping = false
  const admin = createAdmin({
    ...{ gateway: gateway.app, reloader, metrics, secret, log, clock },
    tokens: adminTokensFrom(tokens),
    tls: tls && certificates.open('admin', tls),
    thread,
    isStopping: () => isStopping,
  })
  const url = await admin.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => admin.close())
  const operate = tls ? tlsCaller(url, readFileSync(tls.cert, 'utf8')) : caller(url)
  /** Asks with a token. */
  const ask: Call = (method, path, body, headers) =>
    operate(method, path, body, { authorization: `Bearer ${token}`, ...headers })
  const write = (change: (text: string) => string): void =>
    writeFileSync(file, change(readFileSync(file, 'utf8')))
  /** Says that it stops, as a signal does. */
  const stop = (): void => {
    isStopping = true
    thread?.close()
  }
  const readMetrics = async (): Promise<string> => (await metrics.read()).text
  return { gateway, admin, url, file, operate, ask, write, stop, metrics: readMetrics }
}
