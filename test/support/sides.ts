import type { Test } from 'tap'
import { Pool } from 'undici'
import type { Swap } from '../../gateway/front/swaps/swap.ts'
import type { SwapView } from '../../gateway/front/swaps/view.ts'
import { startUpstream, type Gateway } from './gateway.ts'
import { json, type Call } from './http.ts'

/** A plan without limits, so that callers only meet what a side answers. */
export const unlimitedPlan =
  'plans: { free: { perMinute: unlimited, perDay: unlimited, bans: off } }'

/** One side of a swap: answers with its name, and with what a test makes of it. */
async function startSide(t: Test, name: string) {
  const side = {
    /** The share of requests that fail, and how long an answer takes. */
    fails: 0,
    takesMs: 1,
    /** Requests of these callers fail. */
    failsFor: new Set<string>(),
    ids: [] as string[],
  }
  const upstream = await startUpstream(t, (request, response) => {
    const { 'x-request-id': id = '', 'x-caller-id': caller = '' } = request.headers
    side.ids.push(String(id))
    const isFailing = Math.random() < side.fails || side.failsFor.has(String(caller))
    response.statusCode = isFailing ? 500 : 200
    setTimeout(() => response.setHeader('x-side', name).end('{}'), side.takesMs)
  })
  return Object.assign(side, { upstream, url: upstream.url })
}

/** One side of a swap, which a test can spoil. */
export type Side = Awaited<ReturnType<typeof startSide>>

/** Both sides of a swap. */
export type Sides = Readonly<{ old: Side; next: Side }>

/** Starts both sides of a swap. */
export async function startSides(t: Test): Promise<Sides> {
  return { old: await startSide(t, 'old'), next: await startSide(t, 'new') }
}

/** A request and its answer. */
export type Asked = Readonly<{ caller: string; side: string; status: number; atMs: number }>

/** Callers who ask all gateways in turn, until stopped. */
export async function startCallers(t: Test, gateways: readonly Gateway[], count = 40) {
  const [first] = gateways
  if (!first) throw new Error('there is a gateway')
  const keys = await Promise.all(Array.from({ length: count }, () => first.key()))
  const pools = gateways.map(({ url }) => new Pool(url, { connections: 4 }))
  const asked: Asked[] = []
  let isOn = true
  const ask = async (key: (typeof keys)[number], turn: number): Promise<void> => {
    const pool = pools[turn % pools.length]
    if (!pool) throw new Error('there is a pool')
    const atMs = performance.now()
    const { headers, statusCode, body } = await pool.request({
      ...{ method: 'GET', path: '/v1/x', headers: key.headers },
    })
    await body.dump()
    const side = String(headers['x-side'] ?? 'none')
    asked.push({ caller: key.key.id, side, status: statusCode, atMs })
  }
  const loops = Array.from({ length: 8 }, async (_none, loop) => {
    for (let turn = loop; isOn; turn += 8) {
      const key = keys[turn % keys.length]
      if (key) await ask(key, Math.floor(turn / keys.length) + turn)
      await new Promise((go) => setTimeout(go, 24))
    }
  })
  const stop = async (): Promise<void> => {
    isOn = false
    await Promise.all(loops)
    await Promise.all(pools.map((pool) => pool.close()))
  }
  t.teardown(() => (isOn ? stop() : undefined))
  return { asked, stop, keys }
}

/** The swap of a gateway's upstream. */
export function swapOf({ config, app }: Gateway): Swap {
  const settings = config.upstreams.get('animals')
  const swap = settings && app.front.swaps.see(settings)
  if (!swap) throw new Error('there is a swap')
  return swap
}

/** Whether a step of the swap is in force. */
export const isAt = (gateway: Gateway, step: number) => () => swapOf(gateway).stepInForce === step

/** The swap as the admin API tells it. */
export async function swapSeen(ask: Call): Promise<SwapView> {
  const { animals } = json(await ask('GET', '/admin/swaps?upstream=animals'))
  return animals as SwapView
}

/** Whether all callers were called back. */
export const isBack = (gateway: Gateway) => () => swapOf(gateway).progress?.state === 'back'
