import { parseConfig } from '../../gateway/office/config/load.ts'
import { addKeys, get, newTokens } from './callers.ts'
import { load } from './load.ts'
import type { Say, Settings } from './measure.ts'
import { openLoad } from './open-load.ts'
import type { Observation } from './probe.ts'
import { median } from './rows.ts'
import { started } from './server.ts'
import { withStage, type Stage } from './stage.ts'
import { tableOf } from './tables.ts'

const routes = 1_000
const keyCount = 10_000
const windowSeconds = 2

/** Share of its capacity at which the gateway is asked: work beside it must find room. */
const level = 0.3

type Window = Readonly<{ p99Ms: number; requests: number }> & Observation

type Reload = Readonly<{
  /** CPU time of all threads, and the loop's, that a window with a reload takes more. */
  cpuMs: number
  loopMs: number
  longestMs: number
  longestPieceMs: number
  longestBeforeMs: number
  p99Ms: number
  p99BeforeMs: number
}>

/** Measures putting a changed configuration in force, under load, with many routes and keys. */
export async function benchReload(
  settings: Settings,
  say: Say,
  progress: Say,
): Promise<readonly Reload[]> {
  sayReading(say)
  let all: readonly Reload[] = []
  await withStage(async (stage) => {
    all = await reloads(stage, settings, progress)
  })
  const spread = (of: (reload: Reload) => number): string => {
    const values = all.map(of)
    return `${median(values).toFixed(1)} (${Math.min(...values).toFixed(1)}–${Math.max(...values).toFixed(1)})`
  }
  const name = `a reload with ${routes.toLocaleString('en')} routes and ${keyCount.toLocaleString('en')} keys in use`
  const table = tableOf(
    [
      ['work: CPU time of all threads, ms', spread(({ cpuMs }) => cpuMs)],
      ['work: time of the loop, ms', spread(({ loopMs }) => loopMs)],
      ['longest piece of its work, processor ms', spread(({ longestPieceMs }) => longestPieceMs)],
      ['longest stall of the loop, ms', spread(({ longestMs }) => longestMs)],
      ['the same without a reload, ms', spread(({ longestBeforeMs }) => longestBeforeMs)],
      ['p99 of requests meanwhile, ms', spread(({ p99Ms }) => p99Ms)],
      ['p99 before, ms', spread(({ p99BeforeMs }) => p99BeforeMs)],
    ],
    [
      [name, ([what = '']) => what],
      ['median (least–most)', ([, value = '']) => value],
    ],
  )
  say(`\n${table}`)
  return all
}

/** Tells how long reading a file takes, alone. */
function sayReading(say: Say): void {
  for (const count of [10, 100, 1_000]) {
    const paths = Array.from({ length: count }, (_, i) => `{ path: /r${i}/*, upstream: a }`)
    const text = `plans: { p: { perMinute: 10, perDay: 100 } }
upstreams: { a: { targets: ["http://127.0.0.1:9"] } }
routes: [${paths.join()}]`
    const times = Array.from({ length: 15 }, () => {
      const began = performance.now()
      parseConfig(text, {}, 'bench')
      return performance.now() - began
    })
    say(`${count.toLocaleString('en')} routes are read in ${median(times).toFixed(1)} ms`)
  }
}

async function reloads(stage: Stage, settings: Settings, progress: Say): Promise<Reload[]> {
  const { connections, rounds } = settings
  const tokens = newTokens(keyCount)
  const gateway = stage.gateway('reload', { routes, isProbed: true })
  await gateway.within((stores) => addKeys(stores, tokens))
  const running = await started(gateway.server)
  const { url } = running
  const request = get(...tokens)
  const all: Reload[] = []
  try {
    await load({ url, connections, seconds: 0.2, atLeast: keyCount * 3, request })
    const capacity = await load({ url, connections, seconds: 2, request })
    const perSecond = capacity.perSecond * level
    const windowOf = async (act: () => void): Promise<Window> => {
      const [outcome, observation] = await running.observe(() => {
        act()
        return openLoad({ url, connections: 256, seconds: windowSeconds, perSecond, request })
      })
      return { ...outcome, ...observation }
    }
    for (let round = 0; round < rounds; round++) {
      progress(`reload ${round + 1} of ${rounds}`)
      const perDay = 1e9 + round + 1
      const before = await windowOf(() => undefined)
      const during = await windowOf(() => gateway.save(perDay))
      await expectLimit(url, tokens[0] ?? '', perDay)
      all.push(reloadOf(before, during))
    }
  } finally {
    await running.end()
  }
  return all
}

function reloadOf(before: Window, during: Window): Reload {
  return {
    cpuMs: during.cpuMs - before.cpuMs,
    loopMs: during.loopMs - before.loopMs,
    longestMs: Math.max(...during.stallsMs),
    longestPieceMs: Math.max(...during.piecesMs),
    longestBeforeMs: Math.max(...before.stallsMs),
    p99Ms: during.p99Ms,
    p99BeforeMs: before.p99Ms,
  }
}

/** Throws unless a caller is told of a limit: then the configuration is in force. */
async function expectLimit(url: string, token: string, limit: number): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` }
  const answer = await fetch(`${url}/v1/pets`, { headers })
  await answer.arrayBuffer()
  const told = answer.headers.get('x-ratelimit-limit')
  if (told !== String(limit)) throw new Error(`the limit is ${told}, not ${limit}`)
}
