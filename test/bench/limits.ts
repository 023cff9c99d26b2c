import { join } from 'node:path'
import { RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible'
import type { Asker } from '../../gateway/front/limits/cached-refusals.ts'
import { Quotas } from '../../gateway/front/limits/quotas.ts'
import { openGatewayFile } from '../../gateway/front/stores/embedded/database.ts'
import { embeddedQuotas } from '../../gateway/front/stores/embedded/quota.ts'
import { connect } from '../../gateway/front/stores/redis/connect.ts'
import { redisQuotas } from '../../gateway/front/stores/redis/quota.ts'
import { until } from '../support/until.ts'
import { withRedis } from './redis.ts'
import { median } from './rows.ts'
import { cpuSeconds } from './server.ts'

type Decide = (i: number) => unknown

const keys = 10_000
const batch = 64
const bans = {
  strikes: 20,
  withinMs: 60_000,
  graceMs: 1_000,
  forMs: 300_000,
  factor: 2,
  atMostMs: 3_600_000,
  memoryMs: 86_400_000,
}
const open = { perMinute: 1e9, perDay: 1e9 }
const full = { perMinute: 1, perDay: 1e9 }

/** Measures one decision in this process and in Redis: ours, and the library's. */
export function benchLimits(
  { rounds, seconds }: { rounds: number; seconds: number },
  say: (line: string) => void,
): Promise<void> {
  return withRedis(async ({ url, pid, client, folder }) => {
    const connection = connect({ url }, { timeoutMs: 5_000 })
    await until(() => connection.status === 'ready')
    const embedded = embeddedQuotas(openGatewayFile(join(folder, 'gateway.db')))
    try {
      const library = (name: string, duration: number) =>
        new RateLimiterRedis({ storeClient: client, keyPrefix: name, points: 1e9, duration })
      const [minute, day] = [library('minute', 60), library('day', 86_400)]
      const union = new RateLimiterUnion(library('uminute', 60), library('uday', 86_400))
      const redis = redisQuotas({ connection, prefix: 'bench:', timeoutMs: 5_000 })
      const inRedis = quotas(redis)
      const inMemory = quotas(embedded)
      const asker = (i: number): Asker => ({ id: `k${i % keys}`, quota: `q${i % keys}` })
      const terms = { limits: open, bans }
      const fullTerms = { limits: full, bans: undefined }
      const noTerms = { limits: { perMinute: 0, perDay: 1 }, bans: undefined }
      const refused: Asker = { id: 'k0', quota: 'full' }
      const banned: Asker = { id: 'banned', quota: 'banned' }
      for (let i = 0; i < 2; i++) await inRedis.decide(refused, fullTerms, 1)
      await redis.ban('banned', 'banned', Date.now() + 3_600_000)
      await inRedis.decide(banned, terms, 1)
      const contestants: [string, Decide][] = [
        [
          'two RateLimiterRedis',
          (i) => Promise.all([minute.consume(i % keys), day.consume(i % keys)]),
        ],
        ['their RateLimiterUnion', (i) => union.consume(i % keys)],
        ['Tollgate, Redis: admitted', (i) => inRedis.decide(asker(i), terms, 1)],
        ['Tollgate, Redis: refused, no bans', () => inRedis.decide(refused, fullTerms, 1)],
        ['Tollgate, Redis: banned', () => inRedis.decide(banned, terms, 1)],
        ['Tollgate, embedded: admitted', (i) => inMemory.decide(asker(i), terms, 1)],
        ['Tollgate, embedded: refused', () => inMemory.decide(refused, noTerms, 1)],
      ]
      const results = contestants.map((): { own: number; redis: number }[] => [])
      for (let round = 0; round < rounds; round++) {
        for (const [index, [, decide]] of contestants.entries()) {
          results[index]?.push(await costOf(decide, seconds, pid))
        }
      }
      say('CPU µs a decision, 64 at a time        this process   Redis')
      for (const [index, [name]] of contestants.entries()) {
        const own = median(results[index]?.map((result) => result.own) ?? [])
        const redis = median(results[index]?.map((result) => result.redis) ?? [])
        say(`  ${name.padEnd(36)} ${own.toFixed(2).padStart(10)} ${redis.toFixed(2).padStart(9)}`)
      }
      inRedis.close()
    } finally {
      await embedded.close()
      connection.disconnect()
    }
  })
}

function quotas(store: ConstructorParameters<typeof Quotas>[0]['store']): Quotas {
  return new Quotas({ store, whenUnreachable: 'local', clock: Date.now })
}

async function costOf(decide: Decide, seconds: number, redisPid: number | undefined) {
  const [before, redisBefore] = [process.cpuUsage(), cpuSeconds(redisPid)]
  const until = performance.now() + seconds * 1_000
  let count = 0
  while (performance.now() < until) {
    const asked: unknown[] = []
    for (let i = 0; i < batch; i++) asked.push(decide(count++))
    await Promise.all(asked)
  }
  const { user, system } = process.cpuUsage(before)
  return {
    own: (user + system) / count,
    redis: ((cpuSeconds(redisPid) - redisBefore) * 1e6) / count,
  }
}
