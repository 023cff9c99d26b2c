import type { FastifyInstance } from 'fastify'
import { hostname } from 'node:os'
import { parseArgs } from 'node:util'
import { logLevels, standardLog } from '../shared/log.ts'
import { progressBar } from '../shared/progress.ts'
import { withSecrets } from '../shared/secret-files.ts'
import { isLoopback, portInUse, serve } from '../shared/serve.ts'
import { secretFault, secretWarning } from '../shared/signature.ts'
import { collectorForm, isCollector } from '../shared/spans/collector.ts'
import { collectorTrouble, openSpans, type SpansOptions } from '../shared/spans/open.ts'
import type { Database } from '../shared/sqlite.ts'
import { portOf, wholeNumber } from '../shared/units.ts'
import { createBackend } from './app.ts'
import { openDatabase } from './database.ts'
import { seed } from './seed.ts'
import { clearWay, socketFrom } from './socket.ts'
import { tlsFrom } from './tls.ts'

const help = `The animal store: pet CRUD from SQLite, for a gateway to stand in front of.

  npm run backend                        serve
  npm run -s backend -- --seed 1000000   add that many invented animals to the database, then end
  npm run -s backend -- --help           this text

Environment:
  HOST            address to listen on          127.0.0.1
  PORT            port to listen on             8090 (0: any free one)
  LISTEN          a Unix socket to listen at, in place of both: unix:/run/animals.sock
  DATABASE        the SQLite file               data/animals.db
  GATEWAY_SECRET  shared with the gateway; with it, requests that the gateway didn't sign get 403
  TLS_CERT        a file in PEM: its certificate; with it and its key, it speaks HTTPS only
  TLS_KEY         a file in PEM: the private key of the certificate
  TLS_CLIENT_CA   a file in PEM: only clients with a certificate that one of these has signed are served
  LOG_LEVEL       ${logLevels.join(' ')}   info
  OTEL_EXPORTER_OTLP_ENDPOINT  where spans are sent (OTLP over HTTP, in JSON); empty: none are made
`

try {
  await main()
} catch (error) {
  process.stderr.write(`backend: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { seed: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  })
  if (values.help) return void process.stdout.write(help)
  const {
    HOST = '127.0.0.1',
    LISTEN = '',
    DATABASE = 'data/animals.db',
    LOG_LEVEL,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector = '',
  } = process.env
  const count = values.seed === undefined ? undefined : wholeNumber('--seed', values.seed, 1e9)
  const port = portOf(['PORT', process.env['PORT']]) ?? 8_090
  const socket = socketFrom(LISTEN)
  const level = levelFrom(LOG_LEVEL ?? 'info')
  const secret = withSecrets('GATEWAY_SECRET', process.env['GATEWAY_SECRET']).text || undefined
  const fault = secretFault(secret)
  if (fault) throw new Error(fault)
  const database = openDatabase(DATABASE)
  if (count !== undefined) return fill(database, count)

  const log = { level, target: standardLog(process) }
  const spans =
    collector === '' ? undefined : await openSpans(spansTo(collector, (err) => tell(err)))
  const tls = tlsFrom(process.env, () => app.log)
  const app = createBackend({ database, secret, log, spans, tls })
  const tell = collectorTrouble(app.log)
  app.addHook('onClose', async () => {
    tls?.close()
    await spans?.close()
    database.close()
  })
  const isOpen = !secret && !tls?.texts.ca
  if (isOpen && socket === undefined && !isLoopback(HOST)) {
    app.log.warn(
      `listening on ${HOST} without GATEWAY_SECRET: every request that reaches it is served`,
    )
  }
  const weakness = secretWarning(secret)
  if (weakness) app.log.warn(weakness)
  if (socket !== undefined) return serveAt(app, socket)
  try {
    await serve(app, process, { host: HOST, port })
  } catch (error) {
    throw portInUse(error, 'PORT')
  }
}

/** Serves at a Unix socket, which its owner and group may use (0660). */
async function serveAt(app: FastifyInstance, path: string): Promise<void> {
  await clearWay(path)
  const before = process.umask(0o117)
  await serve(app, process, { path })
  process.umask(before)
}

/** The settings of spans, for the collector that the environment names. */
function spansTo(to: string, trouble: SpansOptions['trouble']): SpansOptions {
  const setting = 'OTEL_EXPORTER_OTLP_ENDPOINT'
  if (!isCollector(to)) throw new Error(`${setting} must be ${collectorForm}, got "${to}"`)
  const counts = { sent: 0, failed: 0, dropped: 0 }
  const instance = `${hostname()}:${process.pid}`
  return { to, setting, service: 'animal-store', instance, counts, trouble }
}

function fill(database: Database, count: number): void {
  seed(database, count, progressBar(process.stdout, 'animals', count))
  database.close()
}

function levelFrom(text: string): string {
  if (logLevels.some((level) => level === text)) return text
  throw new Error(`LOG_LEVEL must be one of ${logLevels.join(', ')}, got "${text}"`)
}
