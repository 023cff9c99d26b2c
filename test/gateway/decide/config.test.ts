import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify from 'fastify'
import t from 'tap'
import { configOf, loadConfig } from '../../../gateway/index.ts'
import { readConfig } from '../../../gateway/office/config/load.ts'
import { messagesOf } from '../../support/configuration.ts'
import { blocks, textOf } from '../../support/readme.ts'
import { folderOf } from '../../support/folder.ts'
import { tollgate } from '../../../gateway/plugin.ts'

const text = `
plans:
  free: { perMinute: 60, atOnce: 3, operations: { exports: { paths: [/v1/exports], atOnce: 1 } } }
decide: { host: 0.0.0.0, port: 8082, for: nginx, token: '\${DECIDE_TOKEN}' }
routes:
  - { path: /v1/*, upstream: none, cost: { estimate: 3, from: answer } }
`

t.test('what a decision can’t know is a warning where it is asked for', (t) => {
  const file = join(folderOf(t), 'gateway.yaml')
  writeFileSync(file, text)
  const { warnings, config, shown } = readConfig(file, { DECIDE_TOKEN: 'the-token-of-the-proxy' })
  const places = warnings.map((line) => line.replace(/^.*?:(\d+:\d+): warning: /, '$1 '))
  t.strictSame(places, [
    '3:34 plans.free.atOnce limits no request of routes with upstream: none, because only the proxy that asks knows when they end',
    '3:92 plans.free.operations.exports.atOnce limits no request of routes with upstream: none, because only the proxy that asks knows when they end',
    '6:42 routes[0].cost is told by an answer, which only the proxy that asks has: the estimate is what counts',
  ])
  t.match(config.decide, { for: 'nginx', token: 'the-token-of-the-proxy' })
  t.match(config.routes, [{ upstream: 'none', cost: 3, answerCost: undefined }])
  t.notMatch(JSON.stringify(shown), 'the-token-of-the-proxy')
  t.end()
})

t.test('an address without anything to decide is a warning', (t) => {
  const file = join(folderOf(t), 'gateway.yaml')
  writeFileSync(
    file,
    `
plans: { free: { perMinute: 60 } }
decide: { port: 8082, for: caddy }
upstreams: { animals: { targets: ['http://127.0.0.1:8090'] } }
routes: [ { path: /v1/*, upstream: animals } ]
`,
  )
  t.match(readConfig(file, {}).warnings, [
    /decide has nothing to decide: no route has upstream: none$/,
  ])
  t.equal(loadConfig(file, {}).decide?.host, '127.0.0.1')
  t.end()
})

t.test('an app has no routes that are only decided', async (t) => {
  const config = configOf({
    plans: { free: { perMinute: 60 } },
    decide: { port: 8082, for: 'caddy' },
    routes: [{ path: '/v1/*', upstream: 'none' }],
    store: { file: ':memory:' },
  })
  const app = Fastify()
  t.teardown(() => app.close())
  await t.rejects(async () => void (await app.register(tollgate, { loaded: config })), {
    message: 'routes.0.upstream is none: only a gateway of its own decides for a proxy',
  })
})

t.test('the configurations of the pages are sound, and warn of nothing', (t) => {
  for (const page of ['nginx', 'caddy']) {
    const [file = ''] = blocks(textOf(`config/guides/${page}.md`), 'yaml')
    t.match(file, `for: ${page}`)
    t.strictSame(messagesOf(file), [])
    const place = join(folderOf(t), 'gateway.yaml')
    writeFileSync(place, file)
    t.strictSame(readConfig(place, {}).warnings, [])
  }
  t.end()
})
