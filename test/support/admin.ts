import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { settingsFrom } from '../../gateway/process-settings.ts'
import { Serving, type ServingOptions } from '../../gateway/serving.ts'
import { folderOf } from './folder.ts'
import { configFor, startGateway, startUpstream, type GatewayOptions } from './gateway.ts'
import { caller, tlsCaller, type Call } from './http.ts'
import { token } from './operator.ts'

export type AdminOptions = GatewayOptions &
  Pick<ServingOptions, 'thread'> &
  Readonly<{
    /** The tokens of operators; one that `ask` has unless told. */
    tokens?: string
  }>

/**
 * A real gateway in this process, with its configuration in a file and its admin address open. Without `thread`, the office
 * works in this one.
 */
export async function startAdmin(t: Test, options: AdminOptions = {}) {
  const { log, secret, tokens = token, thread = 'none' } = options
  const folder = folderOf(t)
  const upstream = options.upstream ?? (await startUpstream(t))
  const store = options.store ?? `file: ${join(folder, 'gateway.db')}`
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, configFor(upstream.url, store, options))
  const settings = settingsFrom(
    {
      ...{ TOLLGATE_CONFIG: file, ADMIN_TOKEN: tokens, LOG_LEVEL: log?.level ?? 'silent' },
      ...(secret === undefined ? {} : { GATEWAY_SECRET: secret }),
    },
    log?.target ?? { write: () => true },
  )
  let serving: Serving | undefined
  const gateway = await startGateway(t, { ...options, upstream, store }, async (opened) => {
    serving = await Serving.open(settings, { ...opened, thread })
    return serving.gateway
  })
  await serving?.openAdmin({ host: '127.0.0.1', port: 0 })
  if (!serving?.admin) throw new Error('a process alone has an admin address')
  const { admin, metrics } = serving
  const stop = serving.stop.bind(serving)
  t.teardown(async () => {
    stop()
    await admin.close()
  })
  const url = admin.listeningOrigin
  const { tls } = settings.loaded.config.admin
  const operate = tls ? tlsCaller(url, readFileSync(tls.cert, 'utf8')) : caller(url)
  /** Asks with a token. */
  const ask: Call = (method, path, body, headers) =>
    operate(method, path, body, { authorization: `Bearer ${token}`, ...headers })
  const write = (change: (text: string) => string): void =>
    writeFileSync(file, change(readFileSync(file, 'utf8')))
  const readMetrics = async (): Promise<string> => (await metrics.read()).text
  return { gateway, admin, url, file, operate, ask, write, stop, metrics: readMetrics }
}
