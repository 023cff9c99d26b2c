import type { Test } from 'tap'
import { startAdmin } from './admin.ts'
import { startGateway, type Gateway } from './gateway.ts'
import { startRedis } from './redis.ts'

const plans = `
plans:
  free: { perMinute: 60, perDay: 1000, bans: off }
  pro: { perMinute: 300, perDay: 10000 }
  custom: { limits: custom, bans: off }
  daily: { perMinute: unlimited, perDay: 200, bans: off }
`

/**
 * Two gateways of one Redis, or one with a file, the first with its admin address open. Of the fleet, each gateway's clock
 * is wrong, by some seconds.
 */
export async function startOnOneStore(
  t: Test,
  kind: 'embedded' | 'redis',
  now: () => number,
  count = 2,
) {
  if (kind === 'embedded') {
    const admin = await startAdmin(t, { clock: now, more: plans })
    return { ...admin, all: [admin.gateway], redis: undefined }
  }
  const redis = await startRedis(t)
  const store = `redis: "${redis.url}"`
  const options = { store, storeClock: now, more: plans }
  const admin = await startAdmin(t, { ...options, clock: () => now() - 7_000 })
  const others: Gateway[] = []
  for (let i = 1; i < count; i++) {
    others.push(await startGateway(t, { ...options, clock: () => now() + i * 7_000 }))
  }
  return { ...admin, all: [admin.gateway, ...others], redis }
}
