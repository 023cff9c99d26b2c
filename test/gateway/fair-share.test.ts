import fc from 'fast-check'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { FairShare } from '../../gateway/front/http/fair-share.ts'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { json } from '../support/http.ts'
import { startRedis } from '../support/redis.ts'
import { pause } from '../support/traffic.ts'
import { until } from '../support/until.ts'

const plenty = { limits: { perMinute: 10_000, perDay: 100_000 } }

/** An upstream that answers when it is told to, and says how many wait. */
async function startSlow(t: Test) {
  const waiting = new Set<ServerResponse>()
  const upstream = await startUpstream(t, (request, response) => {
    if (request.url === '/v1/quick') return void response.end('{}')
    waiting.add(response)
    response.once('close', () => waiting.delete(response))
  })
  return { upstream, waiting, answerAll: () => waiting.forEach((response) => response.end('{}')) }
}

t.test('a share', (t) => {
  const share = new FairShare(100)
  const enter = (quota: string, times: number): number => {
    let entered = 0
    for (let i = 0; i < times; i++) if (share.enter(quota)) entered++
    return entered
  }
  t.equal(enter('a', 500), 50, 'of one that is alone is half of the room')
  t.equal(enter('b', 500), 33, 'of a second one is a third')
  t.strictSame(share.takenBy('b'), { underWay: 33, share: 33 })
  for (let i = 0; i < 50; i++) share.leave('a')
  for (let i = 0; i < 33; i++) share.leave('b')
  let least = Infinity
  const all = Array.from({ length: 10 }, (_, i) => `k${i}`)
  const counts = new Map(all.map((name) => [name, 0]))
  for (let round = 0; round < 50; round++) {
    for (const name of all) counts.set(name, (counts.get(name) ?? 0) + enter(name, 1))
  }
  least = Math.min(...counts.values())
  t.ok(least >= 9, `ten that want fifty each have at least nine: ${least}`)
  for (let room = 4; room < 40; room++) {
    const alone = new FairShare(room)
    while (alone.enter('a'));
    t.equal(alone.takenBy('a').underWay, Math.floor(room / 2), `no more than half of ${room}`)
  }
  t.end()
})

t.test('quotas without a request on its way take nothing from a share', (t) => {
  const share = new FairShare(1_000)
  for (const idle of [10, 900, 5_000]) {
    const quotas = Array.from({ length: idle }, (_, i) => `${idle} ${i}`)
    const refused = quotas.slice(0, 400).filter((quota) => !share.enter(quota))
    for (const quota of quotas.slice(0, 400)) share.leave(quota)
    const alone = quotas.map((quota) => {
      if (!share.enter(quota)) refused.push(quota)
      const taken = share.takenBy(quota)
      share.leave(quota)
      return JSON.stringify(taken)
    })
    t.strictSame(refused, [])
    t.strictSame(new Set(alone), new Set([JSON.stringify({ underWay: 1, share: 500 })]))
    t.strictSame(share.takenBy(`${idle} 0`), { underWay: 0, share: 1_000 }, `${idle} left`)
    t.equal(roomIn(share), 500)
  }
  share.add('a')
  for (let i = 0; i < 3_000; i++) {
    share.add(`${i}`)
    share.leave(`${i}`)
  }
  t.strictSame(share.takenBy('a'), { underWay: 1, share: 500 }, 'one that is busy is not forgotten')
  t.end()
})

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`one caller leaves room for the others: ${kind}`, async (t) => {
    const { upstream, waiting, answerAll } = await startSlow(t)
    const store = kind === 'redis' ? { store: `redis: "${(await startRedis(t)).url}"` } : {}
    const gateway = await startGateway(t, { ...store, upstream, upstreamMore: 'maxInFlight: 100' })
    const { call, key } = gateway
    const [greedy, other] = [await key(plenty), await key(plenty)]
    let answered = 0
    const asked = Array.from({ length: 200 }, async () => {
      const answer = await call('GET', '/v1/x', undefined, greedy.headers)
      answered++
      return answer
    })
    await until(() => waiting.size >= 50)
    for (let i = 0; i < 20; i++) {
      t.equal((await call('GET', '/v1/quick', undefined, other.headers)).status, 200)
      await pause(5)
    }
    await until(() => answered >= 150)
    t.equal(waiting.size, 50, 'the greedy one has half of the room, and no more')
    answerAll()
    const answers = await Promise.all(asked)
    const refused = answers.filter(({ status }) => status === 429)
    t.equal(answers.filter(({ status }) => status === 200).length, 50)
    t.equal(refused.length, 150)
    t.match(refused[0], {
      headers: { 'retry-after': '1', 'x-ratelimit-limit': '10000', 'cache-control': 'no-store' },
      text: /"code":"too_many_at_once"/,
    })
    const counted = [...gateway.app.front.meters.refusals].map((row) => row.join())
    t.strictSame(counted, ['free,too_many_at_once,150'])
    const quota = json(await call('GET', '/v1/quota', undefined, greedy.headers))
    // Of the day: meanwhile another minute may have begun.
    t.match(quota, { day: { remaining: 99_950 }, strikes: 0 }, 'what was refused costs nothing')
    await until(() => waiting.size === 0)
    const again = Array.from({ length: 50 }, () => call('GET', '/v1/x', undefined, greedy.headers))
    await until(() => waiting.size === 50)
    answerAll()
    for (const { status } of await Promise.all(again)) t.equal(status, 200, 'and has room again')
  })
}

t.test('an account has one share, and nobody has any where that is off', async (t) => {
  const { upstream, waiting, answerAll } = await startSlow(t)
  const upstreamMore = 'maxInFlight: 20'
  const { call, key } = await startGateway(t, { upstream, upstreamMore })
  const [one, two] = [
    await key({ ...plenty, account: 'acme' }),
    await key({ ...plenty, account: 'acme' }),
  ]
  let heldBack = 0
  const asked = [one, two].flatMap(({ headers }) =>
    Array.from({ length: 20 }, async () => {
      const { status } = await call('GET', '/v1/x', undefined, headers)
      if (status === 429) heldBack++
    }),
  )
  await until(() => heldBack === 30)
  t.equal(waiting.size, 10)
  answerAll()
  await Promise.all(asked)
  const open = await startGateway(t, { upstream, upstreamMore: `${upstreamMore}, fair: off` })
  const { headers } = await open.key(plenty)
  let refused = 0
  const all = Array.from({ length: 30 }, async () => {
    const answer = await open.call('GET', '/v1/x', undefined, headers)
    if (answer.status === 503) refused++
    return answer
  })
  await until(() => waiting.size === 20 && refused === 10)
  answerAll()
  const statuses = (await Promise.all(all)).map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 503).length, 10, 'then there is only the room')
})

/** The most requests of one quota that a share lets in at the moment. */
function roomIn(share: FairShare): number {
  let entered = 0
  while (share.enter('a new one')) entered++
  for (let i = 0; i < entered; i++) share.leave('a new one')
  return entered
}

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`whatever ends a request, it is counted down once: ${kind}`, async (t) => {
    const waiting = new Set<ServerResponse>()
    const upstream = await startUpstream(t, (request, response) => {
      const { url = '', socket } = request
      if (url.includes('reset')) return void socket.resetAndDestroy()
      if (url.includes('large')) return void response.end(Buffer.alloc(500_000))
      if (url.includes('tunnel')) {
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
        )
        return void (url.includes('end') && setImmediate(() => socket.destroy()))
      }
      if (!url.includes('slow')) return void response.end('{}')
      waiting.add(response)
      response.once('close', () => waiting.delete(response))
    })
    const store = kind === 'redis' ? { store: `redis: "${(await startRedis(t)).url}"` } : {}
    const { app, key, url } = await startGateway(t, {
      ...{ ...store, upstream, targets: `["${upstream.url}", "${upstream.url}"]` },
      upstreamMore: 'maxInFlight: 40, health: { unhealthyAfter: 1000000 }',
    })
    const [{ share } = {}] = app.front.upstreams.all
    if (!share) throw new Error('shares are on')
    const { port } = new URL(url)
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
    const requests = [
      ['GET', 'quick', ''],
      ['GET', 'slow', ''],
      ['GET', 'large', ''],
      ['GET', 'reset', ''],
      ['POST', 'quick', 'Content-Length: 2\r\n', '{}'],
      ['POST', 'quick', 'Content-Length: 9\r\n', '{}'],
      ['POST', 'reset', 'Transfer-Encoding: chunked\r\n', '2\r\n{}\r\n'],
      ['GET', 'tunnel', upgrade],
      ['GET', 'tunnel-end', upgrade],
      ['GET', 'quick', upgrade],
    ] as const
    const seed = kind === 'redis' ? 204 : 203
    const drawn = fc.sample(fc.tuple(fc.nat(requests.length - 1), fc.nat(5), fc.nat(3)), {
      ...{ seed, numRuns: 300 },
    })
    // Keys that this gateway hasn't met are looked up first; some may send one request a minute only.
    const keys = await Promise.all(
      drawn.map((_, i) =>
        key(i % 3 === 0 ? { limits: { perMinute: 1, perDay: 9 } } : { ...plenty, account: 'a' }),
      ),
    )
    const sockets = drawn.map(([which, turns, times], i) => {
      const [method, path, lines, body = ''] = requests[which] ?? requests[0]
      const socket = connect(Number(port), '127.0.0.1')
      const { token } = keys[i] ?? { token: '' }
      const head = `${method} /v1/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`
      socket.on('error', () => undefined).resume()
      socket.once('connect', () => {
        const leave = (turn: number): void =>
          turn === 0 ? void socket.destroy() : void setImmediate(() => leave(turn - 1))
        const text = `${head}${lines}\r\n${body}`.repeat(times + 1)
        socket.write(text, () => turns < 5 && leave(turns * turns))
      })
      return socket
    })
    await until(() => sockets.every(({ destroyed }, i) => destroyed || drawn[i]?.[1] === 5))
    sockets.forEach((socket) => socket.destroy())
    await until(() => {
      waiting.forEach((response) => response.end())
      return app.front.upstreams.all.every(({ underWay }) => underWay.count === 0)
    })
    await until(() => roomIn(share) === 20).catch(() => undefined)
    t.equal(roomIn(share), 20, `of seed ${seed} nothing is left, and nothing was taken twice`)
  })
}
