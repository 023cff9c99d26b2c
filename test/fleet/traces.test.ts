import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { serverAttributes } from '../../shared/spans/http.ts'
import { openSpans } from '../../shared/spans/open.ts'
import type { Span } from '../../shared/spans/span.ts'
import { traceStateFrom } from '../../shared/trace.ts'
import { startCollector } from '../support/collector.ts'
import { folderOf } from '../support/folder.ts'
import { collectGarbage } from '../support/garbage.ts'
import { configFor } from '../support/gateway.ts'
import { caller } from '../support/http.ts'
import { startProcess } from '../support/process.ts'
import { callersSpan, traced as parent, traceId } from '../support/spans.ts'
import { until } from '../support/until.ts'

const anySpan: Span = {
  ...{ name: 'GET', kind: 'server', traceId, id: callersSpan, parentId: undefined },
  ...{ state: undefined, beganAtMs: 1, endedAtMs: 2, attributes: {} },
  isError: false,
}

t.test('a collector that hangs costs spans and one line, until it is back', async (t) => {
  const collector = await startCollector(t)
  const counts = { sent: 0, failed: 0, dropped: 0 }
  const told: (string | undefined)[] = []
  const spans = await openSpans({
    ...{ to: collector.url, setting: 'traces.to', service: 'test', instance: 'here', counts },
    trouble: (error) => told.push(error?.message),
    times: { everyMs: 20, timeoutMs: 600 },
  })
  collector.answer(() => undefined)
  // The first batch is under way at once; 10,000 others find room.
  for (let i = 0; i < 20_000; i++) spans.add(anySpan)
  t.strictSame(counts, { sent: 0, failed: 0, dropped: 9_488 })
  await until(() => counts.failed >= 1_024)
  t.strictSame(told, ['Request timed out'], 'two batches are lost, and one line tells of it')
  collector.answer((response) => void response.end('{}'))
  await until(() => counts.sent + counts.failed === 10_512)
  t.strictSame(told.slice(1), [undefined])
  collector.answer((response) => void response.writeHead(400).end('no'))
  spans.add(anySpan)
  await until(() => told.length === 3)
  collector.answer(() => undefined)
  spans.add(anySpan)
  const closingFrom = performance.now()
  await spans.close()
  t.ok(performance.now() - closingFrom < 4_000, 'a stop waits for two seconds at most')
  t.equal(told.length, 3)
})

t.test('any text and any number arrives', async (t) => {
  const collector = await startCollector(t)
  const counts = { sent: 0, failed: 0, dropped: 0 }
  const spans = await openSpans({
    ...{ to: collector.url, setting: 'traces.to', service: 'test', instance: 'here', counts },
    trouble: (error) => t.error(error),
    times: { everyMs: 20, timeoutMs: 5_000 },
  })
  const values = [
    ...['', 'a "b" \\', 'Häßliche Grüße, 猫 🐈', '\ud800', '\u0000\n\t\u007f\u2028'],
    ...['x'.repeat(50_000), 0, 200, -1, 0.5, 2 ** 40],
  ]
  for (const value of values) spans.add({ ...anySpan, name: 'GET /é', attributes: { value } })
  await until(() => counts.sent === values.length)
  const arrived = collector.spans.map(({ name, attributes }) => [name, attributes['value']])
  t.strictSame(
    arrived,
    values.map((value) => ['GET /é', value]),
  )
  await spans.close()
})

t.test('spans that wait keep 40 MB at most of what callers send', async (t) => {
  const collector = await startCollector(t)
  collector.answer(() => undefined)
  const counts = { sent: 0, failed: 0, dropped: 0 }
  const spans = await openSpans({
    ...{ to: collector.url, setting: 'traces.to', service: 'test', instance: 'here', counts },
    trouble: () => undefined,
  })
  const heap = (): number => {
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const before = heap()
  for (let i = 0; i < 11_000; i++) {
    // Texts as they come from the wire, each in memory of its own.
    const url = Buffer.from(`/v1/${'x'.repeat(490)}?${i}${'y'.repeat(7_600)}`).toString('latin1')
    const [path = ''] = url.split('?')
    spans.add({
      ...anySpan,
      ...{
        parentId: callersSpan,
        state: traceStateFrom(Buffer.from(`v=${'z'.repeat(8_000)}${i}`).toString()),
      },
      attributes: serverAttributes({
        ...{ method: 'GET', path, scheme: 'http', route: '/v1/*', status: 200 },
      }),
    })
  }
  t.equal(counts.dropped, 488, 'one batch is under way, and 10,000 wait')
  const megabytes = (heap() - before) / 1_000_000
  t.ok(megabytes < 40, `they take ${megabytes.toFixed()} MB`)
  await spans.close()
})

/** A script that writes down, at the end of its process, the URLs of all code that was loaded. */
const listing = `import { Session } from 'node:inspector'
import { writeFileSync } from 'node:fs'
const session = new Session()
session.connect()
const loaded = []
session.on('Debugger.scriptParsed', ({ params }) => loaded.push(params.url))
session.post('Debugger.enable')
process.on('exit', () => writeFileSync(process.env.LOADED, loaded.join('\\n')))
`

/** A script that hides OpenTelemetry's packages. */
const hiding = `import { register } from 'node:module'
register('data:text/javascript,' + encodeURIComponent(\`export function resolve(name, context, next) {
  return next(name.startsWith('@opentelemetry/') ? name + '-that-nobody-installed' : name, context)
}\`))
`

t.test('nothing of OpenTelemetry is loaded where no spans are made', async (t) => {
  const collector = await startCollector(t)
  const folder = folderOf(t, { 'list.mjs': listing })
  const shell = `export NODE_OPTIONS=--import=${join(folder, 'list.mjs')}`
  const loadedBy = async (name: string, file: string, env: Record<string, string>) => {
    const list = join(folder, `${name}.txt`)
    const service = startProcess(t, file, {
      env: { LOADED: list, LOG_LEVEL: 'warn', ...env },
      shell,
    })
    await caller(await service.url)('GET', '/v1/pets', undefined, {
      ...parent,
      connection: 'close',
    })
    service.child.kill('SIGTERM')
    await service.ended
    const urls = readFileSync(list, 'utf8').split('\n')
    t.ok(
      urls.some((url) => url.endsWith('/shared/service.ts')),
      `${name} has listed its code`,
    )
    // prom-client loads the API, which is nothing but interfaces, for its exemplars.
    return urls.filter((url) => /@opentelemetry\/(?!api\/)/.test(url)).length
  }
  const gateway = (name: string, more: string) => {
    const file = join(folder, `${name}.yaml`)
    const store = `file: ${join(folder, `${name}.db`)}`
    writeFileSync(file, configFor('http://127.0.0.1:1', store, { more: `${more}\ndrain: 0s` }))
    return loadedBy(name, 'gateway/main.ts', { TOLLGATE_CONFIG: file })
  }
  const backend = loadedBy('store', 'backend/main.ts', {
    ...{ PORT: '0', DATABASE: join(folder, 'store.db') },
  })
  const [without, none, some, store] = await Promise.all([
    gateway('without', ''),
    gateway('none', `traces: { to: "${collector.url}", sample: 0 }`),
    gateway('some', `traces: { to: "${collector.url}", sample: 0.001% }`),
    backend,
  ])
  t.strictSame([without, none, store], [0, 0, 0])
  t.ok(some > 20)
})

t.test('where spans can’t be made, a process says why and doesn’t start', async (t) => {
  const folder = folderOf(t, { 'hide.mjs': hiding })
  const shell = `export NODE_OPTIONS=--import=${join(folder, 'hide.mjs')}`
  const file = join(folder, 'gateway.yaml')
  const more = 'traces: { to: "http://127.0.0.1:4318" }'
  writeFileSync(file, configFor('http://127.0.0.1:1', `file: ${join(folder, 'g.db')}`, { more }))
  const gateway = startProcess(t, 'gateway/main.ts', { env: { TOLLGATE_CONFIG: file }, shell })
  t.match(await gateway.ended, { code: 2 })
  const missing =
    'asks for spans, and OpenTelemetry’s packages aren’t installed: npm install @opentelemetry/api@'
  t.match(gateway.output(), `traces.to ${missing}`)
})
