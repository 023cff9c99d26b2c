import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { usage } from '../../gateway/front/counts/usage.ts'
import { usedIn } from '../../gateway/front/limits/counters.ts'
import { openStores } from '../../gateway/front/stores/open.ts'
import type { Stores } from '../../gateway/front/stores/stores.ts'
import { stateOfHash } from '../../gateway/front/stores/redis/quota-hash.ts'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { ledgerLines } from '../../gateway/office/ledger/ledger.ts'
import { dayMs, windowOf } from '../../shared/windows.ts'
import { startFleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller } from '../support/http.ts'
import { held, isLong } from '../support/promises.ts'
import { startRedis } from '../support/redis.ts'
import { seeded } from '../support/seeded.ts'
import { until } from '../support/until.ts'

const estimate = 10
const inTrailer = { Trailer: 'X-Gateway-Cost' }
const streamMs = isLong ? 20_000 : 2_000

/** A backend that tells random costs, by the path that is asked for, and adds them up. */
async function startTelling(t: Test, seed: number) {
  const random = seeded(seed)
  const waiting: (() => void)[] = []
  let told = 0
  const tellLate = (response: ServerResponse, cost: number): void => {
    told += cost
    response.addTrailers({ 'X-Gateway-Cost': String(cost) })
    response.end('}')
  }
  const answer = (response: ServerResponse): void => {
    const cost = random(40)
    if (random(2) === 0) {
      told += cost
      return void response.setHeader('X-Gateway-Cost', cost).end('{}')
    }
    response.writeHead(200, inTrailer).write('{')
    setTimeout(() => tellLate(response, cost), random(30))
  }
  const stream = (response: ServerResponse): void => {
    response.writeHead(200, inTrailer)
    const timer = setInterval(() => response.write('{'), 100)
    setTimeout(() => {
      clearInterval(timer)
      tellLate(response, 777)
    }, streamMs)
  }
  /** Its caller hangs up: it costs what its header tells, else the estimate. */
  const neverEnd = (response: ServerResponse, cost?: number): void => {
    told += cost ?? estimate
    const header = cost === undefined ? {} : { 'X-Gateway-Cost': cost }
    response.writeHead(200, { ...inTrailer, ...header }).write('{')
  }
  const { url } = await startUpstream(t, ({ url }, response) => {
    if (url === '/v1/wait') waiting.push(() => answer(response))
    else if (url === '/v1/stream') stream(response)
    else if (url === '/v1/left') neverEnd(response)
    else if (url === '/v1/left-told') neverEnd(response, 33)
    else answer(response)
  })
  return { url, waiting, told: () => told }
}

/** Four gateways before it, what callers do, and the points that Redis has. */
async function startPlace(t: Test, seed: number) {
  const backend = await startTelling(t, seed)
  // It writes each change down before it answers: a restart loses none.
  const redis = await startRedis(t, '--appendonly', 'yes', '--appendfsync', 'always')
  const fleet = await startFleet(t, {
    upstream: backend.url,
    store: `redis: "${redis.url}"`,
    more: 'plans: { free: { perMinute: unlimited, perHour: unlimited, perDay: 1000000 } }',
    routes: `[ { path: /v1/*, upstream: animals, cost: { estimate: ${estimate}, from: answer, atMost: 1000 } } ]`,
    environments: [{}, {}, {}, {}],
  })
  const headers = await fleet.key({ account: 'acme' })
  const ask = async (count: number, urls: readonly string[], path = '/v1/x'): Promise<void> => {
    const calls = urls.map(caller)
    let asked = 0
    const one = async (): Promise<void> => {
      while (asked < count) {
        const answer = await calls[asked++ % calls.length]?.('GET', path, undefined, headers)
        t.equal(answer?.status, 200)
      }
    }
    await Promise.all(Array.from({ length: Math.min(count, 64) }, one))
  }
  const used = async (name: 'day' | 'month' = 'day') => {
    const state = stateOfHash(await redis.client.hgetall('tollgate:quota:account:acme'))
    return state && usedIn(state, windowOf(name))
  }
  const { store } = parseConfig(readFileSync(fleet.file, 'utf8'), {}, 'fleet.yaml')
  /** Reads as a command does, whose connection doesn't outlive a restart of Redis that takes long. */
  const read = async <Answer>(ask: (stores: Stores) => Promise<Answer>): Promise<Answer> => {
    const stores = await openStores(store, { forCommandLine: true })
    return ask(stores).finally(() => stores.close())
  }
  return { ...fleet, backend, redis, read, headers, ask, used }
}

type Place = Awaited<ReturnType<typeof startPlace>>

/** Asks for answers that wait, and goes on when all of them are admitted, and nothing else is under way. */
async function begin({ ask, used, backend }: Place, count: number, urls: readonly string[]) {
  const ended = ask(count, urls, '/v1/wait')
  ended.catch(() => undefined)
  await until(async () => (await used()) === backend.told() + count * estimate)
  await until(() => backend.waiting.length === count)
  return { ended }
}

/** Restarts Redis while answers are under way: some of them come before it is back, some after. */
async function restartRedis(place: Place): Promise<void> {
  const { ask, urls, redis, backend } = place
  const { ended } = await begin(place, 40, urls)
  await redis.kill()
  for (const answer of backend.waiting.splice(0, 20)) answer()
  await ask(200, urls)
  await redis.restart()
  for (const answer of backend.waiting.splice(0)) answer()
  await ask(300, urls)
  await ended
}

/** Sees the beginning of an answer, and hangs up. */
async function hangUp({ headers }: Place, url: string): Promise<void> {
  const { body } = await request(url, { headers })
  await once(body, 'data')
  body.on('error', () => undefined).destroy()
}

async function inLedger(stores: Stores, day: number): Promise<number> {
  const query = { fromDay: day, toDay: day, by: 'account' } as const
  let sum = 0
  for await (const { points } of ledgerLines(stores, query, Date.now())) sum += points
  return sum
}

/** Answers over four gateways; Redis is restarted, a gateway killed, and callers hang up. */
async function countsAll(t: Test, seed: number): Promise<void> {
  const place = await startPlace(t, seed)
  const { urls, processes, ask, used, read, backend, redis } = place
  const day = Math.floor(Date.now() / dayMs)
  const usageNow = async () =>
    (await read((stores) => usage(stores, { fromDay: day, toDay: day })))[0]
  const isCounted = (more = 0) =>
    until(async () => (await used()) === backend.told() + more, 20_000)

  await Promise.all([ask(1, urls, '/v1/stream'), ask(1_000, urls)])
  await isCounted()
  await restartRedis(place)
  await isCounted()
  await until(async () => (await usageNow())?.points === backend.told())

  const [killed, ...others] = [...urls].reverse()
  const { ended } = await begin(place, 20, [killed ?? ''])
  const lost = 20 * estimate
  const going = ask(440, others)
  const left = ['/v1/left', '/v1/left-told'].map((path) => hangUp(place, `${others[0]}${path}`))
  processes.at(-1)?.child.kill('SIGKILL')
  await t.rejects(ended)
  await Promise.all([going, ...left])
  await isCounted(lost)

  for (const { child } of processes) child.kill('SIGTERM')
  for (const { ended } of processes.slice(0, -1)) t.equal((await ended).code, 0)
  const told = backend.told()
  // What waited at the killed gateway has ended nowhere, so usage hasn't got it.
  const expected = [told + lost, told + lost, told + lost, told].join()
  const seen = [await used(), await used('month'), await read((stores) => inLedger(stores, day))]
  const counted = [...seen, (await usageNow())?.points].join()
  const promise = 'told costs, Redis restarted, a gateway killed: counted to the point'
  held(t, promise, `${counted} of ${expected}`, counted === expected)
  const answered = 1 + 1_000 + 540 + 440 + 2
  t.match(await usageNow(), { admitted: answered, estimated: answered * estimate })
  redis.client.disconnect()
}

for (const seed of isLong ? [46, 47, 48, 49, 50] : [46]) {
  await t.test(`what answers have told is counted once, whatever fails: ${seed}`, (t) =>
    countsAll(t, seed),
  )
}
