import { once } from 'node:events'
import { connect } from 'node:net'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { EventStreams } from '../../gateway/office/admin/events.ts'
import type { LiveRow, Snapshot } from '../../gateway/office/live/snapshot.ts'
import { startAdmin } from '../support/admin.ts'
import { runCommand } from '../support/command.ts'
import { startFleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { json } from '../support/http.ts'
import { token } from '../support/operator.ts'
import { startRedis, watchCommands } from '../support/redis.ts'
import { until } from '../support/until.ts'

const startMs = Date.UTC(2026, 5, 15, 12, 0, 30)

// They mostly wait for the next second.
t.jobs = 2

type Event = Readonly<{ name: string; snapshot: Snapshot }>

/** A client that watches. */
async function watch(t: Test, url: string, query = '') {
  const leaving = new AbortController()
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  const response = await fetch(`${url}/admin/live${query}`, { headers, signal: leaving.signal })
  const events: Event[] = []
  const state = { isOver: false, text: '' }
  const read = async (): Promise<void> => {
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      state.text += piece
      const parts = state.text.split('\n\n')
      for (const part of parts.slice(events.length + 1, -1)) events.push(eventFrom(part))
    }
  }
  const over = read()
    .catch(() => undefined)
    .finally(() => (state.isOver = true))
  const leave = (): void => leaving.abort()
  t.teardown(leave)
  /** All rows of the events so far, the newest of each second. */
  const rows = (): LiveRow[] => {
    const all = events.flatMap(({ snapshot }) => snapshot.range?.rows ?? [])
    return [...new Map(all.map((row) => [row.at, row])).values()]
  }
  return { response, events, state, over, leave, rows }
}

function eventFrom(text: string): Event {
  const [, name = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(text) ?? []
  return { name, snapshot: JSON.parse(data) as Snapshot }
}

const sumOf = (rows: readonly LiveRow[], name: keyof LiveRow): number =>
  rows.reduce((all, row) => all + Number(row[name]), 0)

const hostile = '</script><img src=x onerror=alert(1)>\u202e\nevent: past'

t.test('a known load is told exactly, once and as events', async (t) => {
  const upstream = await startUpstream(t, ({ url = '' }, response) => {
    if (url.startsWith('/v1/reset')) response.destroy()
    else response.writeHead(url.startsWith('/v1/broken') ? 500 : 200).end('{}')
  })
  let now = startMs
  const { gateway, ask, url, file, write, stop } = await startAdmin(t, {
    upstream,
    clock: () => now,
    more: `cors: { origins: [ "https://page.example" ] }
plans: { free: { perMinute: 60, perDay: 1000 } }
bans: { strikes: 1, grace: 0s }`,
  })
  const one = await gateway.key({ limits: { perMinute: 20, perDay: 1000 } })
  const stored = await gateway.stores.keys.get(one.key.id)
  await gateway.stores.keys.replace({ ...one.key, name: hostile }, stored?.version ?? 0)
  const day = await gateway.key({ name: 'Day', limits: { perMinute: 60, perDay: 2 } })
  const send = async (count: number, path: string, headers = {}, method = 'GET') => {
    for (let i = 0; i < count; i++) await gateway.call(method, path, undefined, headers)
  }
  const watcher = await watch(t, url)
  await send(13, '/v1/pets', one.headers)
  await send(3, '/v1/broken', one.headers)
  await send(2, '/v1/reset', one.headers, 'POST')
  await send(2, '/elsewhere', one.headers)
  await send(4, '/v1/pets', one.headers)
  await send(3, '/v1/pets', day.headers)
  await send(6, '/v1/pets')
  const preflight = { origin: 'https://page.example', 'access-control-request-method': 'GET' }
  await send(1, '/v1/pets', preflight, 'OPTIONS')
  now++
  await send(3, '/v1/pets', one.headers)
  const snapshot = async (query = ''): Promise<Snapshot> =>
    json(await ask('GET', `/admin/live${query}`)) as Snapshot
  await until(async () => (await snapshot()).lastMinute.requests === 37)
  const told = await snapshot('?range=15m')
  const expected = {
    requests: 37,
    ...{ admitted: 18, minute: 4, day: 1, ban: 3, strangers: 6, refused: 2, others: 1 },
    failed: { gateway: 0, noBackend: 2, backend: 3 },
  }
  t.match(told.lastMinute, expected)
  t.match(told.range?.sums, expected)
  t.strictSame(told.lastMinute.own?.count, 37)
  t.strictSame(told.lastMinute.upstream?.count, 20)
  t.strictSame(told.gateways.asked, 1)
  t.match(told.targets, [{ upstream: 'animals', target: upstream.url, healthy: true }])
  t.strictSame(told.incidents, [])
  t.match(told.store, { reachable: true, without: [] })
  t.match(told.configs, [{ gateways: told.gateways.names, refusals: [] }])
  t.strictSame(told.refusedKeys, [
    { key: one.key.id, name: hostile, plan: 'free', window: 'minute', count: 4 },
    { key: one.key.id, name: hostile, plan: 'free', window: 'ban', count: 3 },
    { key: one.key.id, name: hostile, plan: 'free', window: null, count: 2 },
    { key: day.key.id, name: 'Day', plan: 'free', window: 'day', count: 1 },
  ])
  t.match(told.refusals.at(-1), { key: one.key.id, code: 'key_banned', window: null, status: 429 })
  t.equal((await snapshot()).range, null)
  t.match((await snapshot('?range=day')).range, { step: 60, sums: expected })
  t.equal((await ask('GET', '/admin/live?range=week')).status, 400)

  await until(() => sumOf(watcher.rows(), 'requests') === 37)
  const { failed, ...counts } = expected
  t.equal(
    watcher.rows().reduce((sum, row) => sum + row.failed.backend, 0),
    failed.backend,
  )
  for (const [name, count] of Object.entries(counts)) {
    t.equal(sumOf(watcher.rows(), name as keyof LiveRow), count, name)
  }
  t.match(watcher.response.headers.get('content-type'), 'text/event-stream')
  t.equal(watcher.events[0]?.name, 'past')
  t.ok(watcher.events.slice(1).every(({ name }) => name === 'second'))
  const listed = watcher.events.flatMap(({ snapshot }) => snapshot.refusals)
  t.equal(listed.length, 21, 'each refusal and failure comes once')
  t.ok(listed.some(({ name }) => name === hostile))

  const late = await watch(t, url, '?range=day')
  await until(() => late.events.length > 1)
  t.equal(sumOf(late.rows(), 'requests'), 37, 'who comes later gets the past')
  t.ok((late.events[1]?.snapshot.range?.rows.length ?? 9) <= 1)
  await send(2, '/v1/pets')
  // Each hears of a second by an event of its own.
  await until(() => [late, watcher].every((each) => sumOf(each.rows(), 'requests') === 39))

  write((text) =>
    text.replace(/^admin: .*$/m, `admin: { host: 127.0.0.1, port: ${new URL(url).port} }`),
  )
  const command = (...words: string[]) =>
    runCommand(['now', ...words, '--config', file], { ADMIN_TOKEN: token })
  const { stdout, code } = await command('--range', '15m')
  t.equal(code, 0)
  t.match(stdout, /^1 of 1 gateways reporting, \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ\.\n/)
  t.match(stdout, /LAST MINUTE +15M\nrequests +39 +39\nadmitted +18 +18\n/)
  t.match(stdout, /^own p50, p99 +[\d.]+, [\d.]+ ms /m)
  t.match(stdout, /animals +http:\S+ +healthy/)
  t.notMatch(stdout, /[\u202e]|\nevent/)
  t.match(JSON.parse((await command('--json')).stdout), {
    lastMinute: { requests: 39 },
    range: null,
  })

  stop()
  await until(() => watcher.state.isOver && late.state.isOver)
  t.equal((await fetch(`${url}/healthz`)).status, 200)
  t.match(await ask('GET', '/admin/live', undefined, { accept: 'text/event-stream' }), {
    status: 503,
    text: 'The gateway stops.',
  })
})

t.test('a fleet is told exactly, and nobody is asked while nobody watches', async (t) => {
  const redis = await startRedis(t)
  const store = `redis: "${redis.url}", timeout: 500ms`
  const one = await startAdmin(t, { store })
  const other = await startAdmin(t, { store })
  const fleet = await startFleet(t, { upstream: one.gateway.upstream.url, store })
  const { headers } = await one.gateway.key({ plan: 'pro' })
  await until(() => one.gateway.stores.fleet.size === 3)
  const commands = await watchCommands(t, redis)
  // A gateway's line in the fleet is a document.
  const beats = () =>
    commands.filter((command) => /^hset \S*\{documents:fleet\} /i.test(command)).length
  // An empty text is said only to see whether this user may.
  const said = () => commands.filter((command) => /^publish \S+ ./i.test(command)).length
  const send = async (count: number) => {
    const [url = ''] = fleet.urls
    for (let i = 0; i < count; i++) {
      await one.gateway.call('GET', '/v1/x', undefined, headers)
      await other.gateway.call('GET', '/v1/x', undefined, headers)
      await (await fetch(`${url}/v1/x`, { headers })).text()
    }
  }
  await send(5)
  // Two beats of all gateways.
  const beatsBefore = beats()
  await until(() => beats() >= beatsBefore + 6)
  t.equal(said(), 0, 'nobody watches')

  const watcher = await watch(t, one.url)
  const second = await watch(t, other.url, '?range=day')
  await until(() => watcher.events.length > 0 && second.events.length > 0)
  t.ok(said() > 0)
  await send(15)
  await until(
    () => sumOf(watcher.rows(), 'admitted') === 60 && sumOf(second.rows(), 'admitted') === 60,
  )
  // A gateway that has answered late tells of seconds that aren't over by the watcher's clock.
  await until(() => watcher.events.at(-1)?.snapshot.lastMinute.admitted === 60)
  const { snapshot } = watcher.events.at(-1) ?? {}
  t.match(snapshot?.gateways, { asked: 3, told: 3 })
  t.equal(snapshot?.lastMinute.admitted, 60)
  t.equal(snapshot?.gateways.names.length, 3)
  t.equal(snapshot?.targets.length, 2)

  fleet.processes[0]?.child.kill('SIGKILL')
  const gateways = () => {
    const { asked, told } = watcher.events.at(-1)?.snapshot.gateways ?? { asked: 0, told: 0 }
    return `${told} of ${asked}`
  }
  await until(() => gateways() === '2 of 3')
  t.equal(sumOf(watcher.rows(), 'admitted'), 60, 'what it told stays')

  second.leave()
  watcher.leave()
  const leftAtMs = performance.now()
  const streamsAreOver = async () => {
    const before = said()
    const beatsBefore = beats()
    await until(() => beats() >= beatsBefore + 4)
    return said() === before
  }
  await until(streamsAreOver)
  t.ok(performance.now() - leftAtMs < 6_000, 'publishing ends with the last watcher')

  const alone = await watch(t, one.url)
  await until(() => gateways() !== '' && alone.events.length > 0)
  await redis.kill()
  await one.gateway.call('GET', '/v1/x', undefined, headers)
  await until(() => alone.events.at(-1)?.snapshot.store.reachable === false)
  await until(() => alone.events.at(-1)?.snapshot.gateways.told === 1)
  const [before] = alone.events.slice(-1)
  await until(() => alone.events.at(-1) !== before, 5_000)
  t.match(alone.events.at(-1)?.snapshot.store.without, [one.gateway.app.front.self.name])
})

t.test('a client that reads nothing fills no memory, and gets the newest later', async (t) => {
  const app = Fastify()
  const streams = new EventStreams(app, { isStopping: () => false, clock: () => now })
  const heardBy: (() => void)[] = []
  let [number, taken, ended, now] = [0, 0, 0, startMs]
  app.decorateRequest('admin', null)
  app.addHook('onRequest', (request, _reply, done) => {
    request.admin = { name: 'eve', role: 'read', endsAtMs: startMs + 1_000 }
    done()
  })
  const filler = 'x'.repeat(1_048_576)
  app.get('/', (request, reply) =>
    streams.answer(request, reply, (heard) => {
      heardBy.push(heard)
      let last = 0
      const take = () => {
        if (last === number) return undefined
        last = number
        taken++
        return { name: 'second' as const, snapshot: { number, filler } as unknown as Snapshot }
      }
      return { take, end: () => ended++ }
    }),
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  const { port } = app.server.address() as { port: number }
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await until(() => heardBy.length === 1)
  socket.pause()
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  for (number = 1; number < 1_000; number++) {
    heardBy[0]?.()
    await turn()
  }
  t.ok(taken < 30, `${taken} of 1,000 events were made`)
  let text = ''
  socket.on('data', (piece: Buffer) => (text = (text + piece.toString()).slice(-3_000_000)))
  socket.resume()
  await until(() => text.includes('"number":1000'))
  socket.destroy()
  await until(() => ended > 0)

  const open = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const one = connect(port, '127.0.0.1')
      one.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      await once(one, 'readable')
      return one
    }),
  )
  t.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 503, 'only so many may watch')
  now += 999
  heardBy.at(-1)?.()
  t.equal(ended, 1)
  now += 1
  heardBy.at(-1)?.()
  await until(() => ended === 2)
  t.pass('a stream ends with the session of its operator')
  await app.close()
  t.equal(ended, 21, 'a stop ends all of them, also those that nobody reads')
  for (const each of open) each.destroy()
})
