import { get as ask } from 'node:http'
import { somePort } from '../support/redis.ts'
import { addKeys, get, newTokens } from './callers.ts'
import type { BenchGateway } from './gateways.ts'
import { load } from './load.ts'
import type { Say, Settings } from './measure.ts'
import { openLoad } from './open-load.ts'
import { median } from './rows.ts'
import { started, type Started } from './server.ts'
import { withStage } from './stage.ts'
import { tableOf } from './tables.ts'

const keyCount = 100_000
const watchers = 20
const adminToken = 'bench:a-token-of-the-benchmark'
const saveEveryMs = 2_000

/** Two flushes of usage, which come every four seconds. */
const leastSeconds = 8

type Situation = Readonly<{
  name: string
  /** The median of all quarters of a second, and the worst. */
  usualMs: number
  worstMs: number
  /** The longest piece of its own work: in a usual quarter of a second, and in the worst one. */
  usualPieceMs: number
  worstPieceMs: number
  fullCollections: number
  longestCollectionMs: number
  p999Ms: number
}>

/** Measures how long the loop of a gateway stands still, while 100,000 keys ask. */
export async function benchStalls(
  settings: Settings,
  say: Say,
  progress: Say,
): Promise<readonly Situation[]> {
  const all: Situation[] = []
  await withStage(async (stage) => {
    const adminPort = await somePort()
    const parts = { adminPort, isProbed: true, env: { ADMIN_TOKEN: adminToken } }
    const store = `redis: "${stage.redis.url}"`
    const gateways = {
      embedded: stage.gateway('stalls', parts),
      Redis: stage.gateway('stalls-redis', { ...parts, store }),
    }
    for (const [name, gateway] of Object.entries(gateways)) {
      const tokens = newTokens(keyCount)
      await gateway.within((stores) => addKeys(stores, tokens))
      const url = `http://127.0.0.1:${adminPort}/admin/live`
      const request = get(...tokens)
      const run: Run = { name, gateway, request, settings, liveUrl: url, progress }
      all.push(...(await situationsOf(run)))
    }
  })
  say(`\n${stallTable(all)}`)
  return all
}

type Run = Readonly<{
  name: string
  gateway: BenchGateway
  request: (n: number) => string
  settings: Settings
  liveUrl: string
  progress: Say
}>

async function situationsOf(run: Run): Promise<Situation[]> {
  const { name, gateway, request, settings, liveUrl, progress } = run
  const { connections } = settings
  const running = await started(gateway.server)
  const { url } = running
  const seconds = Math.max(leastSeconds, settings.rounds * 2)
  const all: Situation[] = []
  const during = async (what: string, act: () => Promise<{ p999Ms: number }>): Promise<void> => {
    progress(`${name}: ${what}`)
    all.push(await situation(`${name}: ${what}`, running, act))
  }
  try {
    await during('each key asks for the first time', () =>
      load({ url, connections, seconds: 0, atLeast: keyCount, request }),
    )
    const { perSecond } = await load({ url, connections, seconds: 4, request })
    const steady = () =>
      openLoad({ url, connections: 256, seconds, perSecond: perSecond / 2, request })
    await during('half of its capacity, with flushes of usage', steady)
    await during('the same, a reload every two seconds', async () => {
      let perDay = 1e9
      const timer = setInterval(() => gateway.save(++perDay), saveEveryMs)
      return steady().finally(() => clearInterval(timer))
    })
    await during(`the same, ${watchers} who watch /admin/live`, async () => {
      const stops = Array.from({ length: watchers }, () => watch(liveUrl))
      return steady().finally(() => stops.forEach((stop) => stop()))
    })
  } finally {
    await running.end()
  }
  return all
}

async function situation(
  name: string,
  running: Started,
  act: () => Promise<{ p999Ms: number }>,
): Promise<Situation> {
  const [{ p999Ms }, { stallsMs, piecesMs, fullCollectionsMs }] = await running.observe(act)
  return {
    name,
    usualMs: median(stallsMs),
    worstMs: Math.max(...stallsMs),
    usualPieceMs: median(piecesMs),
    worstPieceMs: Math.max(...piecesMs),
    fullCollections: fullCollectionsMs.length,
    longestCollectionMs: Math.max(0, ...fullCollectionsMs),
    p999Ms,
  }
}

/** Reads events as a console does; gives what ends it. */
function watch(url: string): () => void {
  const [, token] = adminToken.split(':')
  const headers = { Authorization: `Bearer ${token}`, Accept: 'text/event-stream' }
  const request = ask(url, { headers, agent: false }, (answer) => {
    if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`)
    answer.on('error', () => undefined)
    answer.resume()
  })
  request.on('error', () => undefined)
  return () => void request.destroy()
}

function stallTable(all: readonly Situation[]): string {
  return tableOf(all, [
    ['the loop stands still', ({ name }) => name],
    ['in a usual 250 ms, ms', ({ usualMs }) => usualMs.toFixed(1)],
    ['worst ms', ({ worstMs }) => worstMs.toFixed(1)],
    ['its own work at once, usual ms', ({ usualPieceMs }) => usualPieceMs.toFixed(1)],
    ['worst ms of it', ({ worstPieceMs }) => worstPieceMs.toFixed(1)],
    ['full collections', ({ fullCollections }) => String(fullCollections)],
    ['the longest, ms', ({ longestCollectionMs }) => longestCollectionMs.toFixed(1)],
    ['p99.9 of requests, ms', ({ p999Ms }) => p999Ms.toFixed(1)],
  ])
}
