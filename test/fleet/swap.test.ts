import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { Pool } from 'undici'
import type { SwapView } from '../../gateway/front/swaps/view.ts'
import { startFleet, type Fleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller, json, type Answer } from '../support/http.ts'
import { anyPort, startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { pause } from '../support/traffic.ts'
import { adminOf } from '../support/process.ts'

const admin = { authorization: 'Bearer token-of-the-operator' }
const plans = 'plans: { free: { perMinute: unlimited, perDay: unlimited, bans: off } }'
const routes = 10

/** One of two backends. Its routes are /v1/0 to /v1/9. */
async function startBackend(t: Test, name: string) {
  const backend = {
    /** The share of callers' requests that it answers with 500: a probe that fails would have the swap refused. */
    fails: 0,
    /** How often each request has come, by its id. */
    asked: new Map<string, number>(),
  }
  const { url } = await startUpstream(t, ({ headers }, response) => {
    const id = String(headers['x-request-id'])
    backend.asked.set(id, (backend.asked.get(id) ?? 0) + 1)
    const isOfCaller = headers['x-caller-id'] !== 'probe'
    response.statusCode = isOfCaller && Math.random() < backend.fails ? 500 : 200
    response.setHeader('content-type', 'application/json').setHeader('x-side', name)
    response.end(JSON.stringify({ id: 1, name: 'Rex' }))
  })
  return Object.assign(backend, { url })
}

type Asked = Readonly<{ id: string; caller: number; side: string; status: number; try: string }>

/** Callers who ask all living gateways in turn, each one thing after another. */
async function startCallers(t: Test, { urls, key }: Fleet, size = 40) {
  const keys = await Promise.all(Array.from({ length: size }, () => key()))
  const pools = urls.map((url) => new Pool(url, { connections: 4 }))
  const asked: Asked[] = []
  /** A gateway that is killed loses what is on its way: callers go on at another. */
  const dead = new Set<number>()
  const state = { isOn: true, try: '' }
  const one = async (caller: number, turn: number): Promise<void> => {
    const alive = [...pools.keys()].filter((index) => !dead.has(index))
    const index = alive[turn % alive.length] ?? 0
    const id = `r${asked.length}-${caller}-${turn}`
    const during = state.try
    try {
      const { statusCode, headers, body } = await (pools[index] as Pool).request({
        ...{ method: 'GET', path: `/v1/${Math.floor(Math.random() * routes)}` },
        headers: { ...keys[caller], 'x-request-id': id },
      })
      await body.dump()
      const side = String(headers['x-side'] ?? 'none')
      asked.push({ id, caller, side, status: statusCode, try: during })
    } catch (error) {
      if (!dead.has(index)) throw error
    }
  }
  const loops = keys.map(async (_key, caller) => {
    for (let turn = caller; state.isOn; turn++) {
      await one(caller, turn)
      await new Promise((go) => setTimeout(go, 20))
    }
  })
  const stop = async (): Promise<void> => {
    state.isOn = false
    await Promise.all(loops)
    await Promise.all(pools.map((pool) => pool.destroy()))
  }
  t.teardown(() => (state.isOn ? stop() : undefined))
  return { asked, dead, state, stop }
}

/** Callers that were at the new side and then at the old one. */
function flips(asked: readonly Asked[]): number[] {
  const atNew = new Set<number>()
  return asked.flatMap(({ caller, side }) => {
    if (side === 'new') atNew.add(caller)
    return side === 'old' && atNew.has(caller) ? [caller] : []
  })
}

for (const [name, environments, workers] of [
  ['four gateways', Array.from({ length: 4 }, () => ({})), ''],
  ['a gateway of two workers', [{}], '\nworkers: 2'],
] as const) {
  t.test(`another backend under load, by ${name}`, async (t) => {
    const [old, next] = [await startBackend(t, 'old'), await startBackend(t, 'new')]
    const redis = await startRedis(t)
    const fleet = await startFleet(t, {
      ...{ upstream: old.url, store: `redis: "${redis.url}"`, more: `${plans}${workers}` },
      // Workers share a port by its number.
      ...(workers === '' ? {} : { admin: `{ host: 127.0.0.1, port: ${anyPort} }` }),
      upstreamMore: 'probes: [ { request: GET /v1/0 } ]',
      environments: environments.map((environment) => ({
        ...environment,
        ...{ LOG_LEVEL: 'info', ADMIN_TOKEN: 'token-of-the-operator' },
      })),
    })
    const [first] = fleet.processes
    if (!first) throw new Error('there is a gateway')
    const addresses =
      workers === ''
        ? await Promise.all(fleet.processes.map(adminOf))
        : [`http://127.0.0.1:${fleet.port}`]
    const ask = (method: string, path: string, body?: object): Promise<Answer> =>
      caller(addresses[0] ?? '')(method, path, body, admin)
    const seen = async (): Promise<SwapView> =>
      json(await ask('GET', '/admin/swaps'))['animals'] as SwapView
    const original = readFileSync(fleet.file, 'utf8')
    const describe = (swap: string): void => {
      const text = original.replace('probes:', `swap: { to: ["${next.url}"], ${swap} }, probes:`)
      writeFileSync(`${fleet.file}.new`, text)
      renameSync(`${fleet.file}.new`, fleet.file)
    }
    const { asked, dead, state, stop } = await startCallers(t, fleet)

    const checked = await ask('POST', '/admin/upstreams/check', { url: next.url })
    t.match(json(checked), { fit: true }, 'its probes find nothing')

    next.fails = 0.02
    state.try = 'second'
    const back = 'back: { errors: 0.5%, after: 300, callers: 2, slower: 100 }'
    describe(`steps: [50], every: 1h, ${back}`)
    await until(async () => (await seen())?.state === 'back', 60_000)
    const view = await seen()
    t.match(view.why, /of [\d,]+ requests to the new side failed, 0 % of/)
    t.match(view.summary, /^All callers of animals are at .* again since .* It begins again when/)
    const failed = asked.filter(({ status }) => status !== 200)
    const during = asked.filter((each) => each.try === 'second')
    t.ok(
      failed.length > 0 && failed.length < during.length * 0.05,
      `${failed.length} of ${during.length}`,
    )
    t.ok(failed.every(({ side, status }) => side === 'new' && status === 500))
    // Every gateway goes back within a second.
    await pause(1_000)
    const countBefore = asked.length
    await until(() => asked.length > countBefore + 400)
    t.ok(
      asked.slice(-200).every(({ side }) => side === 'old'),
      'and it stays there',
    )
    t.equal((await seen()).state, 'back')

    next.fails = 0
    state.try = 'third'
    describe(`steps: [20, 60], every: 1s, ${back}`)
    await until(async () => (await seen())?.step === 2, 60_000)
    const last = fleet.processes.length - 1
    if (last > 0) {
      dead.add(last)
      fleet.processes[last]?.child.kill('SIGKILL')
    }
    await until(async () => (await seen()).state === 'all', 60_000)
    const allSinceMs = Date.parse((await seen()).since ?? '')
    await until(() => Date.now() > allSinceMs)
    const atAll = asked.length
    await until(() => asked.length > atAll + 600)
    await stop()

    t.strictSame(new Set(asked.slice(-200).map(({ side }) => side)), new Set(['new']))
    const third = asked.filter((each) => each.try === 'third')
    t.ok(
      third.every(({ status }) => status === 200),
      'nothing is lost',
    )
    t.strictSame(flips(third), [], 'nobody sees both sides by turns')
    const times = asked.map(({ id }) => (old.asked.get(id) ?? 0) + (next.asked.get(id) ?? 0))
    t.ok(
      times.every((count) => count === 1),
      'each was sent once',
    )
    const lines = await ask('GET', '/admin/audit?days=1&limit=100')
    t.match(lines.text, /"what":"swap\.back"/)
  })
}
