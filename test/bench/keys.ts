import { join } from 'node:path'
import { KeyDirectory } from '../../gateway/front/keys/directory.ts'
import type { Key } from '../../gateway/front/keys/key.ts'
import { hashOf, isWellFormed, newKeyId, newToken } from '../../gateway/front/keys/token.ts'
import type { KeyStore } from '../../gateway/front/keys/store.ts'
import { openStores } from '../../gateway/front/stores/open.ts'
import { until } from '../support/until.ts'
import { measure, type Say, type Settings } from './measure.ts'
import { withRedis } from './redis.ts'
import { table } from './rows.ts'
import { bytes } from './wire.ts'

const store = { prefix: 'bench:', timeoutMs: 5_000, whenUnreachable: 'local', file: '' } as const

/** Measures authentication: a request, a look-up, a refusal, and a million keys. */
export async function benchKeys(settings: Settings, say: Say, progress: Say): Promise<object> {
  const token = newToken(newKeyId())
  const authorized = (token: string) => () =>
    bytes('GET', '/', { Authorization: `Bearer ${token}` })
  const ask = (name: string, kind: string, token: string, status: number) => ({
    name,
    server: { program: 'test/bench/guarded.ts', args: [kind, token] },
    request: authorized(kind === 'guarded' && status === 200 ? token : `${token}x`),
    status,
  })
  const rows = await measure(
    [
      ask('bare Fastify route', 'bare', token, 200),
      ask('the same behind a key', 'guarded', token, 200),
      ask('401, mistyped', 'guarded', token, 401),
    ],
    settings,
    progress,
  )
  say(`\n${table(rows, 'finding a caller')}\n`)
  await benchStores(say, settings.rounds > 3 ? [100_000, 1_000_000] : [100_000])
  return rows
}

async function benchStores(say: Say, counts: readonly number[]): Promise<void> {
  for (const count of counts) {
    await withRedis(async ({ url, client, folder }) => {
      const named = `${count.toLocaleString('en')} keys`
      const file = await openStores({
        ...store,
        redis: undefined,
        file: join(folder, 'gateway.db'),
      })
      await benchStore(`embedded, ${named}`, file.keys, count, say)
      await file.close()
      const redis = await openStores({ ...store, redis: { url } }, { forCommandLine: true })
      await benchStore(`redis, ${named}`, redis.keys, count, say)
      await redis.close()
      const memory = Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1])
      const mb = (memory / 2 ** 20).toFixed()
      say(`  Redis itself: ${mb} MB, ${(memory / count).toFixed()} bytes a key`)
    })
  }
}

async function benchStore(name: string, keys: KeyStore, count: number, say: Say): Promise<void> {
  const tokens: string[] = []
  const chunk = 50_000
  for (let done = 0; done < count; done += chunk) {
    const batch = Array.from({ length: Math.min(chunk, count - done) }, (): Key => {
      const id = newKeyId()
      const token = newToken(id)
      if (tokens.length < 20_000) tokens.push(token)
      return {
        id,
        name: 'Acme Incorporated',
        plan: 'free',
        createdAtMs: Date.now(),
        secrets: [{ hash: hashOf(token) }],
      }
    })
    await keys.add(batch)
  }
  const before = process.memoryUsage().rss
  const directory = new KeyDirectory({ store: keys, cacheSize: 100_000, clock: Date.now })
  const invented = Array.from({ length: 20_000 }, () => newToken(newKeyId()))
  await until(() => invented.slice(0, 100).some((token) => !directory.mayExist(token)), 120_000)
  const grown = (process.memoryUsage().rss - before) / 2 ** 20
  const mistyped = tokens.map((token) => `${token.slice(0, -1)}!`)
  say(`${name}: filter of known names ready, process grew by ${grown.toFixed()} MB; CPU µs each:`)
  say(`  cold look-up           ${await micros(tokens, (token) => directory.look(token))}`)
  say(`  warm look-up           ${await micros(tokens, (token) => directory.recall(token))}`)
  say(`  refused by its check   ${await micros(mistyped, (token) => isWellFormed(token))}`)
  say(`  refused by the filter  ${await micros(invented, (token) => directory.mayExist(token))}`)
  directory.close()
}

async function micros(tokens: readonly string[], act: (token: string) => unknown): Promise<string> {
  const before = process.cpuUsage()
  for (let i = 0; i < tokens.length; i += 64) await Promise.all(tokens.slice(i, i + 64).map(act))
  const { user, system } = process.cpuUsage(before)
  return ((user + system) / tokens.length).toFixed(2)
}
