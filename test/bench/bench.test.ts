import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { format } from 'prettier'
import t, { type Test } from 'tap'
import { drawn, type Bar } from './chart.ts'
import { load, spreadOf } from './load.ts'
import { openLoad } from './open-load.ts'
import { markdown } from './tables.ts'
import { partsOf } from './profile.ts'
import type { Spent } from './profiler.ts'
import { spreadOfReference, within } from './rows.ts'
import { started } from './server.ts'
import { startUpstream } from './upstream.ts'
import { verdictOf, Witness } from './witness.ts'

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const request = () => 'GET / HTTP/1.1\r\nHost: bench\r\n\r\n'

/** A server that hands each request, by its number, to a function. */
async function serverOf(t: Test, act: (n: number, socket: Socket) => void): Promise<string> {
  let n = 0
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => act(n++, socket))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('latencies of a steady rate count from when each request was due', async (t) => {
  const holdMs = 50
  const url = await serverOf(t, (n, socket) => {
    setTimeout(() => socket.write(answer), n === 0 ? holdMs : 0)
  })
  const about = { url, connections: 1, seconds: 0.005, perSecond: 1_000, request }
  const { requests, p50Ms, statuses } = await openLoad(about)
  t.equal(requests, 5)
  t.strictSame(statuses, { 200: 5 })
  t.ok(p50Ms >= holdMs - 5, `those that waited for the first are late, too: ${p50Ms} ms`)
})

t.test('a steady rate is kept: no request leaves before it is due', async (t) => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const about = { url: upstream.url, connections: 4, seconds: 0.2, perSecond: 500, request }
  const { requests, perSecond } = await openLoad(about)
  t.equal(requests, 100)
  t.ok(perSecond <= 510, `${perSecond}`)
})

t.test('load goes on when the server closes connections', async (t) => {
  const url = await serverOf(t, (n, socket) => {
    if (n % 3 === 1) return void socket.destroy()
    const close = n % 3 === 2 ? 'Connection: close\r\n' : ''
    socket.write(answer.replace('\r\n\r\n', `\r\n${close}\r\n`))
    if (close) socket.end()
  })
  const { statuses } = await load({ url, connections: 2, seconds: 0, atLeast: 20, request })
  t.ok((statuses['200'] ?? 0) >= 20)
})

t.test(
  'a picture has the lowest first, cuts what is too long, and keeps lines off figures',
  (t) => {
    const bar = (name: string, value: number): Bar => {
      return {
        name,
        value,
        isOurs: name === 'ours',
        lighter: value / 4,
        figure: `${value}`,
        note: '',
      }
    }
    const bars = [bar('long', 9), bar('<mid>', 1), bar('ours', 0.5)]
    const mark = { value: 1, word: 'reference' }
    const groups = [{ title: 'all', bars }]
    const svg = drawn({ title: 'T', about: '', groups, mark, longest: 2 })
    const names = [...svg.matchAll(/class="name [^>]*>([^<]*)</g)].map(([, name]) => name)
    t.strictSame(names, ['ours', '&lt;mid>', 'long'])
    t.equal(svg.match(/class="cut"/g)?.length, 1)
    const numbers = (pattern: RegExp) =>
      [...svg.matchAll(pattern)].map(([, value]) => Number(value))
    const ends = numbers(/class="figure [^"]*" x="([\d.]+)"/g)
    const lines = numbers(/<line class="mark" x1="([\d.]+)"/g)
    const barEnds = [...svg.matchAll(/<rect [^>]*x="([\d.]+)" y="\d+" width="([\d.]+)"/g)].map(
      ([, x, width]) => Number(x) + Number(width),
    )
    // A figure ends at its x, and takes some 50 of the picture's units.
    for (const end of ends) {
      for (const x of [...lines, ...barEnds]) t.ok(x < end - 50, `${x} is left of ${end}`)
    }
    t.end()
  },
)

t.test('tables are Markdown as prettier writes it', async (t) => {
  const table = markdown(['what', 'µs'], [['one', '1.0 (0–2)'], ['the other']])
  t.equal(await format(table, { parser: 'markdown' }), `${table}\n`)
})

t.test('a bench tells a quiet machine from a busy one', async (t) => {
  const quiet = {
    workMs: [5, 5.1, 5.2, 5, 5.1, 9, 5, 5, 5.1, 5, 5],
    stolen: 0.001,
    taken: 0.02,
    reference: 1.2,
  }
  t.match(verdictOf(quiet), {
    isQuiet: true,
    sentence: /quiet: .* 1\.0\d times .* 1\.20 \(both .* 2\.0 %/,
  })
  const workMs = [5, 5, 8, 5, 8, 5, 9]
  for (const busy of [{ workMs }, { stolen: 0.02 }, { taken: 0.3 }, { reference: 2.6 }]) {
    const { isQuiet, sentence } = verdictOf({ ...quiet, ...busy })
    t.match([isQuiet, sentence], [false, /^The machine was busy: /], Object.keys(busy).join())
  }
  const witness = await Witness.beside()
  witness.look()
  t.match(witness.verdict(1).sentence, /took up to \d+\.\d\d times its median .* \d+\.\d % of the/)
})

t.test('a part is as unsteady as the rounds of its first contestant', (t) => {
  const rounds = Array.from({ length: 20 }, (_, i) => (i < 17 ? 100 : i < 19 ? 260 : 900))
  t.equal(spreadOf(rounds), 2.6)
  t.equal(spreadOfReference([{ spread: 2.6 }, { spread: 9 }]), 2.6)
  t.equal(spreadOfReference([{ name: 'without rounds' }]), 1)
  t.equal(spreadOfReference({ peak: 3 }), 1)
  t.end()
})

t.test('a ratio has an interval where there were rounds enough', (t) => {
  t.equal(within(0.512, [0.48, 0.55]), '0.51 (0.48–0.55)')
  t.equal(within(0.512, [-Infinity, Infinity]), '0.51')
  t.equal(within(1, [1, 1]), '1.00')
  t.end()
})

t.test('the time of a request is told by what takes it', (t) => {
  const spent: Spent[] = [
    ['', '(idle)', 900],
    ['', 'writeLatin1String', 40],
    ['', '(garbage collector)', 4],
    ['node:_http_outgoing', 'end', 6],
    ['file:///app/node_modules/undici/lib/core/request.js', 'Request', 10],
    ['file:///app/gateway/front/counts/folds.ts', 'countEnded', 8],
    ['file:///app/gateway/front/stages/1-follow.ts', 'follow', 2],
    ['file:///app/gateway/front/stages/2-screen.ts', 'screen', 1],
  ]
  t.strictSame(partsOf(spent, 10), [
    ['the system’s writes', 4],
    ['undici', 1],
    ['Tollgate: counting', 0.8],
    ['Node’s HTTP and streams', 0.6],
    ['collections', 0.4],
    ['Tollgate: all else', 0.30000000000000004],
  ])
  t.end()
})

t.test('a server tells where the time of its loop goes', async (t) => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const args = ['node', upstream.url]
  const server = await started({ program: 'test/bench/proxies.ts', args, isProfiled: true })
  t.teardown(() => server.end())
  const about = { url: server.url, connections: 8, seconds: 0, atLeast: 2_000, request }
  const [{ requests, statuses }, spent] = await server.profile(() => load(about))
  t.strictSame(statuses, { 200: requests })
  const parts = new Map(partsOf(spent, requests))
  for (const part of ['the system’s writes', 'undici', 'Node’s HTTP and streams']) {
    t.ok((parts.get(part) ?? 0) > 0, part)
  }
})
