import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newKeyId, newToken, hashOf } from '../../gateway/keys/token.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { embeddedKeys } from '../../gateway/stores/embedded/keys.ts'
import { bytes } from './load.ts'
import { measure, started, table, type Contestant } from './measure.ts'

type Settings = { rounds: number; seconds: number; connections: number }

const program = 'test/bench/proxies.js'
const keyCount = 10_000

/** What it costs to stand in between: beside a proxy that knows nobody and limits nothing. */
export async function benchProxy(settings: Settings, say: (line: string) => void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const file = join(folder, 'gateway.db')
  const tokens = await makeKeys(file)
  const upstream = await started({ program, args: ['upstream'] })
  const get = (n: number): string =>
    bytes('GET', '/v1/pets', { Authorization: `Bearer ${tokens[n % keyCount]}` })
  const contestant = (name: string, kind: string, more: Partial<Contestant> = {}): Contestant => ({
    name,
    program,
    args: [kind, upstream.url, `file: ${file}`],
    request: get,
    status: 200,
    ...more,
  })
  try {
    const rows = await measure(
      [
        contestant('bare Fastify and @fastify/http-proxy', 'http-proxy'),
        contestant('node:http and undici, streams joined by hand', 'node'),
        contestant('Tollgate, embedded', 'tollgate'),
        contestant('Tollgate, signing', 'tollgate', { env: { GATEWAY_SECRET: 's3cret' } }),
        contestant('Tollgate, 1,000 routes', 'tollgate', { env: { ROUTES: '1000' } }),
        contestant('Tollgate, one line a request', 'tollgate', { env: { LOG_LEVEL: 'info' } }),
      ],
      settings,
      say,
    )
    say(`\n${table(rows)}\n`)
  } finally {
    await upstream.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function makeKeys(file: string): Promise<string[]> {
  const store = embeddedKeys(openGatewayFile(file))
  const tokens = Array.from({ length: keyCount }, () => newToken(newKeyId()))
  const name = 'bench'
  const keys = tokens.map((token) => {
    const id = token.slice('tg_'.length, 'tg_'.length + 12)
    return { id, name, plan: 'bench', createdAtMs: 0, secrets: [{ hash: hashOf(token) }] }
  })
  await store.add(keys)
  await store.close()
  return tokens
}
