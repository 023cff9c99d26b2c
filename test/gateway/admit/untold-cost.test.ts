import { request, type IncomingMessage, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { startGateway, startUpstream, type Gateway } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { pause } from '../../support/traffic.ts'
import { until } from '../../support/until.ts'

const noon = Date.UTC(2026, 10, 20, 12)
const members = '{ json: { /usage/input: 1, /usage/output: 5 } }'

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/** A gateway whose one route has a cost, in front of a backend; `used` are the points of the minute. */
async function start(t: Test, cost: string, handle: Handle, more = '') {
  const upstream = await startUpstream(t, handle)
  const gateway = await startGateway(t, {
    upstream,
    clock: () => noon,
    more: 'plans: { free: { perMinute: 1000000, perDay: 10000000 } }',
    routes: `[ { path: /v1/*, upstream: animals, cost: ${cost}${more} } ]`,
  })
  const { headers } = await gateway.key()
  const used = async (): Promise<number> => {
    const { minute } = json(await gateway.call('GET', '/v1/quota', undefined, headers))
    const { limit, remaining } = minute as { limit: number; remaining: number }
    return limit - remaining
  }
  return {
    ...gateway,
    headers,
    used,
    isUsed: (points: number) => until(async () => (await used()) === points),
  }
}

/** Asks, reads until a text has come, and leaves; without a text it leaves when the backend has been asked. */
function leave(
  { url, upstream }: Pick<Gateway, 'url' | 'upstream'>,
  headers: object,
  seen?: string,
) {
  const before = upstream.seen.length
  return new Promise<void>((resolve, reject) => {
    const asked = request(`${url}/v1/x`, { headers: { ...headers } }, (answer) => {
      let got = ''
      answer.on('error', () => undefined)
      answer.on('data', (piece: Buffer) => {
        got += String(piece)
        if (seen === undefined || !got.includes(seen)) return
        asked.destroy()
        resolve()
      })
    })
    asked.on('error', () => undefined).end()
    if (seen !== undefined) return
    until(() => upstream.seen.length > before).then(() => {
      asked.destroy()
      resolve()
    }, reject)
  })
}

const event = (data: object | string): string =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

/** A stream of three words, then its usage. It goes on when it is let, and says whether it came to its end. */
function words(parts: readonly string[], ends: boolean[], gap = 30): Handle {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let hasGone = false
    response.on('close', () => (hasGone = !response.writableFinished))
    const left = [...parts]
    const write = (): void => {
      const part = left.shift()
      if (part !== undefined) {
        response.write(part)
        return void setTimeout(write, gap)
      }
      response.end()
      ends.push(!hasGone)
    }
    write()
  }
}

const stream = [
  event({ usage: { input: 10 } }),
  event({ word: 'one' }),
  event({ word: 'two' }),
  event({ word: 'three' }),
  event({ usage: { output: 40 } }),
]

t.test('an answer that tells nothing costs what the route says', async (t) => {
  const answers: Readonly<Record<string, Handle>> = {
    nothing: (_request, response) =>
      void response.setHeader('content-type', 'application/json').end('{}'),
    empty: (_request, response) => void response.writeHead(204).end(),
    unchanged: (_request, response) => void response.writeHead(304).end(),
    html: (_request, response) => void response.setHeader('content-type', 'text/html').end('x'),
    missing: (_request, response) => void response.writeHead(404).end('{}'),
    failed: (_request, response) => void response.writeHead(500).end('{}'),
    malformed: (_request, response) =>
      void response.setHeader('content-type', 'application/json').end('{"usage":{"input":1.5}}'),
  }
  for (const [untold, below400, from400, malformed] of [
    ['estimate', 100, 100, 100],
    ['atMost', 900, 100, 900],
    ['nothing', 0, 0, 100],
  ] as const) {
    for (const from of [members, 'answer']) {
      const cost = `{ estimate: 100, from: ${from}, atMost: 900, untold: ${untold} }`
      const { call, headers, used, isUsed } = await start(t, cost, (request, response) =>
        answers[request.url?.slice('/v1/'.length) ?? '']?.(request, response),
      )
      for (const name of Object.keys(answers)) {
        if (name === 'malformed' && from === 'answer') continue
        const before = await used()
        const method = name === 'html' ? 'HEAD' : 'GET'
        await call(method, `/v1/${name}`, undefined, headers)
        const isFailure = name === 'missing' || name === 'failed'
        const points = name === 'malformed' ? malformed : isFailure ? from400 : below400
        await isUsed(before + points)
        t.pass(`${untold}, ${from}, ${name}: ${points}`)
      }
    }
  }
})

t.test('what the backend breaks off costs what was told, else the estimate', async (t) => {
  const cost = `{ estimate: 100, from: ${members}, atMost: 900, untold: atMost, left: atMost }`
  const { call, headers, isUsed } = await start(t, cost, ({ url }, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(url === '/v1/told' ? stream[0] : stream[1])
    setTimeout(() => response.destroy(), 30)
  })
  await call('GET', '/v1/untold', undefined, headers).catch(() => undefined)
  await isUsed(100)
  await call('GET', '/v1/told', undefined, headers).catch(() => undefined)
  await isUsed(110)
})

t.test('who leaves early pays what was passed on, the estimate, or the most', async (t) => {
  for (const [terms, seen, points] of [
    ['left: passed', '"input"', 100],
    ['left: passed, estimate: 3', '"input"', 10],
    ['left: passed, estimate: 3', '"three"', 20],
    ['left: passed, estimate: 3, atMost: 15', '"three"', 15],
    ['', '"two"', 100],
    ['left: estimate', '"three"', 100],
    ['left: estimate, estimate: 3', '"three"', 10],
    ['left: atMost', '"one"', 900],
    ['left: passed', undefined, 100],
    ['left: atMost', undefined, 900],
  ] as const) {
    const ends: boolean[] = []
    const estimate = terms.includes('estimate: ') ? '' : ', estimate: 100'
    const atMost = terms.includes('atMost: ') ? '' : ', atMost: 900'
    const cost = `{ from: ${members}${estimate}${atMost}${terms && `, ${terms}`} }`
    const handle: Handle = seen === undefined ? () => undefined : words(stream, ends, 60)
    const gateway = await start(t, cost, handle)
    await leave(gateway, gateway.headers, seen)
    await gateway.isUsed(points)
    t.pass(`${terms}, after ${seen}: ${points}`)
    t.strictSame([...gateway.app.front.meters.answerCosts], [['left', '', 1]])
  }
})

t.test('who leaves after all was told pays that, and so does who stays', async (t) => {
  const cost = `{ estimate: 100, from: ${members}, atMost: 900, left: atMost }`
  const parts = [...stream, event('[DONE]'), ': the end\n\n']
  const gateway = await start(t, cost, words(parts, [], 60))
  await leave(gateway, gateway.headers, '"output"')
  await gateway.isUsed(210)
  await gateway.call('GET', '/v1/x', undefined, gateway.headers)
  await gateway.isUsed(420)
})

t.test('a gateway reads on for the cost when its caller has left', async (t) => {
  for (const [bounds, seen, points, isRead] of [
    ['{ time: 5s, size: 1MiB }', '"one"', 210, true],
    ['{ time: 5s, size: 1MiB }', undefined, 210, true],
    ['{ time: 100ms, size: 1MiB }', '"one"', 100, false],
    ['{ time: 5s, size: 10B }', '"one"', 100, false],
  ] as const) {
    const ends: boolean[] = []
    const cost = `{ estimate: 100, from: ${members}, atMost: 900, drain: ${bounds} }`
    const late: Handle = (asked, response) =>
      void pause(100).then(() => words(stream, ends, 60)(asked, response))
    const gateway = await start(t, cost, seen === undefined ? late : words(stream, ends, 60))
    await leave(gateway, gateway.headers, seen)
    await gateway.isUsed(points)
    await until(() => ends.length === 1)
    t.strictSame(ends, [isRead], `${bounds}, after ${seen}`)
    t.equal(gateway.app.front.drains.count, 0)
  }
})

t.test('what is read on keeps its share, and no more than 64 are', async (t) => {
  const going: ServerResponse[] = []
  const cost = `{ estimate: 100, from: ${members}, atMost: 900, drain: { time: 30s, size: 1MiB } }`
  const gateway = await start(t, cost, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(stream[1])
    going.push(response)
  })
  for (let i = 0; i < 66; i++) await leave(gateway, gateway.headers, '"one"')
  const { drains } = gateway.app.front
  t.equal(drains.count, 64)
  await until(() => going.filter(({ destroyed }) => destroyed).length === 2)
  for (const response of going) response.end(`${stream[0]}${stream[4]}`)
  await until(() => drains.count === 0)
  await gateway.isUsed(64 * 210 + 2 * 100)
})

t.test('a backend that fails while it is read for its cost fails nobody', async (t) => {
  const cost = `{ estimate: 100, from: ${members}, atMost: 900, drain: { time: 5s, size: 1MiB } }`
  for (const isBegun of [true, false]) {
    const gateway = await start(t, cost, (_request, response) => {
      if (isBegun) response.writeHead(200, { 'content-type': 'text/event-stream' }).write(stream[1])
      setTimeout(() => response.destroy(), 100)
    })
    await leave(gateway, gateway.headers, isBegun ? '"one"' : undefined)
    await gateway.isUsed(100)
    await until(() => gateway.app.front.drains.count === 0)
    t.equal(gateway.upstream.seen.length, 1, 'nothing is asked again')
  }
})

t.test('a caller that leaves with a body that it still sends is not waited for', async (t) => {
  const cost = `{ estimate: 100, from: ${members}, atMost: 900, drain: { time: 5s, size: 1MiB } }`
  const gateway = await start(t, cost, () => undefined)
  const asked = request(`${gateway.url}/v1/x`, {
    method: 'POST',
    headers: { ...gateway.headers, 'content-length': 200_000 },
  })
  asked.on('error', () => undefined).write('x'.repeat(100_000))
  await until(() => gateway.upstream.seen.length === 1)
  asked.destroy()
  await gateway.isUsed(100)
  t.equal(gateway.app.front.drains.count, 0)
})
