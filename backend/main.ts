import { parseArgs } from 'node:util'
import { logLevels, standardLog, type Log } from '../shared/log.ts'
import { progressBar } from '../shared/progress.ts'
import { withSecrets } from '../shared/secret-files.ts'
import { isLoopback, portInUse, serve } from '../shared/serve.ts'
import { secretFault, secretWarning } from '../shared/signature.ts'
import type { Database } from '../shared/sqlite.ts'
import { FollowedTls } from '../shared/tls/followed.ts'
import { portOf, wholeNumber } from '../shared/units.ts'
import { createBackend } from './app.ts'
import { openDatabase } from './database.ts'
import { seed } from './seed.ts'

const help = `The animal store: pet CRUD from SQLite, for a gateway to stand in front of.

  npm run backend                        serve
  npm run -s backend -- --seed 1000000   add that many invented animals to the database, then end
  npm run -s backend -- --help           this text

Environment:
  HOST            address to listen on          127.0.0.1
  PORT            port to listen on             8090 (0: any free one)
  DATABASE        the SQLite file               data/animals.db
  GATEWAY_SECRET  shared with the gateway; with it, requests that the gateway didn't sign get 403
  TLS_CERT        a file in PEM: its certificate; with it and its key, it speaks HTTPS only
  TLS_KEY         a file in PEM: the private key of the certificate
  TLS_CLIENT_CA   a file in PEM: only clients with a certificate that one of these has signed are served
  LOG_LEVEL       ${logLevels.join(' ')}   info
`

/** The variables of the environment that name files. */
const tlsNames = { cert: 'TLS_CERT', key: 'TLS_KEY', ca: 'TLS_CLIENT_CA' } as const

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
  const { HOST = '127.0.0.1', DATABASE = 'data/animals.db', LOG_LEVEL = 'info' } = process.env
  const count = values.seed === undefined ? undefined : wholeNumber('--seed', values.seed, 1e9)
  const port = portOf(['PORT', process.env['PORT']]) ?? 8_090
  const level = levelFrom(LOG_LEVEL)
  const secret = withSecrets('GATEWAY_SECRET', process.env['GATEWAY_SECRET']).text || undefined
  const fault = secretFault(secret)
  if (fault) throw new Error(fault)
  const database = openDatabase(DATABASE)
  if (count !== undefined) return fill(database, count)

  const log = { level, target: standardLog(process) }
  const tls = ownTls(() => app.log)
  const app = createBackend({ database, secret, log, tls })
  app.addHook('onClose', () => {
    tls?.close()
    database.close()
  })
  const isOpen = !secret && !tls?.texts.ca
  if (isOpen && !isLoopback(HOST)) {
    app.log.warn(
      `listening on ${HOST} without GATEWAY_SECRET: every request that reaches it is served`,
    )
  }
  const weakness = secretWarning(secret)
  if (weakness) app.log.warn(weakness)
  try {
    await serve(app, process, { host: HOST, port })
  } catch (error) {
    throw portInUse(error, 'PORT')
  }
}

/** The certificate that the environment names; `undefined` without one. Throws a sentence if it can't be used. */
function ownTls(log: () => Log): FollowedTls | undefined {
  const { cert: ofCert, key: ofKey, ca: ofCa } = tlsNames
  const [cert, key, ca] = [ofCert, ofKey, ofCa].map((name) => process.env[name] ?? '')
  if (!cert && !key && !ca) return undefined
  if (!cert || !key) {
    throw new Error('TLS_CERT and TLS_KEY belong together: set both to files, or none of TLS_*')
  }
  return new FollowedTls({
    files: { cert, key, ca: ca || undefined },
    names: tlsNames,
    changed: () => log().info({}, 'changed certificates are in use for new connections'),
    refused: (err) =>
      log().error({ err }, 'changed certificates can’t be used; those before stay in use'),
  })
}

function fill(database: Database, count: number): void {
  seed(database, count, progressBar(process.stdout, 'animals', count))
  database.close()
}

function levelFrom(text: string): string {
  if (logLevels.some((level) => level === text)) return text
  throw new Error(`LOG_LEVEL must be one of ${logLevels.join(', ')}, got "${text}"`)
}
