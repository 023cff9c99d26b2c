import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../../gateway/office/config/load.ts'
import { startAdmin } from '../../support/admin.ts'
import { configFor, startGateway, type Gateway } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { portal, start } from '../../support/portal.ts'
import { folderOf } from '../../support/folder.ts'

/** For documents that a test changes: a gateway's own folder is empty at its start. */
const documents = folderOf(t)

/** Puts the same configuration with other parts in force, as a reload does. */
function reload({ app, upstream, config }: Gateway, more: string, routes?: string): Promise<void> {
  const written = routes === undefined ? { more } : { more, routes }
  const text = configFor(upstream.url, `file: ${config.store.file}`, written)
  return app.change(parseConfig(text, {}, 'test.yaml'))
}

t.test('the pages are for anybody, cost nothing, and come from nowhere else', async (t) => {
  const { gateway, ask } = await start(t, { more: 'strangers: { perMinute: 2, perDay: 1000 }' })
  for (const path of ['/docs', '/docs/openapi.json', '/docs/terms.json']) {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await gateway.call(method, path)
      t.equal(status, 200, `${method} ${path}`)
      t.match(headers, {
        'x-request-id': String,
        'x-ratelimit-limit': '2',
        'x-ratelimit-remaining': '2',
        'cache-control': 'no-store',
        'content-security-policy': /^default-src 'none'; script-src 'self'; style-src 'self';/,
        'x-content-type-options': 'nosniff',
        'cross-origin-resource-policy': 'same-origin',
      })
      t.notOk(headers['access-control-allow-origin'])
    }
    const refused = await gateway.call('POST', path, '{}')
    t.match(refused, { status: 405, headers: { allow: 'GET, HEAD', 'x-ratelimit-remaining': '2' } })
  }
  const page = await ask('/docs')
  t.match(page.headers['content-type'], 'text/html')
  const [, script = ''] = /src="(docs\/[0-9a-f]{16}\/main\.js)"/.exec(page.text) ?? []
  t.match(await ask(`/${script}`), {
    status: 200,
    headers: { 'cache-control': /immutable/, 'content-type': /javascript/ },
  })
  t.match(await ask('/docs/'), { status: 308, headers: { location: '../docs' } })
  for (let i = 0; i < 3; i++) await ask('/v1/pets')
  t.equal((await ask('/v1/pets')).status, 429, 'a stranger over the limit')
  t.equal((await ask('/docs')).status, 200, 'may still read how to behave')
  t.equal(gateway.upstream.seen.length, 0)
  const { paths } = json((await ask('/docs/openapi.json')).text) as { paths: object }
  t.ok('/v1/pets' in paths)
})

t.test('without a portal there is none, and its paths are like all others', async (t) => {
  const gateway = await startGateway(t, { routes: '[ { path: /*, upstream: animals } ]' })
  const { headers } = await gateway.key()
  for (const path of ['/docs', '/docs/openapi.json', '/docs/terms.json']) {
    t.equal((await gateway.call('GET', path)).status, 401, path)
    t.equal((await gateway.call('GET', path, undefined, headers)).text, '{"up":"stream"}', path)
  }
})

t.test(
  'the pages tell the terms in force, at once after a reload, and no names of callers',
  async (t) => {
    const { gateway, ask } = await start(t)
    const terms = async () => json((await ask('/docs/terms.json')).text)
    t.match(await terms(), {
      quotaPath: '/v1/quota',
      usagePath: '/v1/usage',
      plans: [
        { name: 'free', limits: { perMinute: 60, perDay: 1000 }, bans: true, operations: [] },
        { name: 'pro' },
        { name: 'enterprise', limits: null },
      ],
    })
    const more = `
plans: { free: { perMinute: 7, perDay: unlimited, operations: { exports: { methods: [GET], perHour: 5 } } } }
${portal}
deprecations:
  - operation: GET /{any}
    since: 2026-01-01
    sunset: 2026-02-01
    replacement: /v2
    extensions: [ { account: secret-account, until: 2027-01-01 }, { key: k3yVb0TQnW8d, until: 2027-01-01 } ]
`
    const told = '{ path: /ask, upstream: animals, cost: { estimate: 6, from: answer } }'
    await reload(gateway, more, `[ { path: /*, upstream: animals, cost: 3 }, ${told} ]`)
    t.match(await terms(), {
      plans: [
        {
          ...{ name: 'free', limits: { perMinute: 7, perDay: null } },
          operations: [
            { name: 'exports', limits: { perHour: 5 }, methods: ['GET', 'HEAD'], paths: null },
          ],
        },
      ],
      routes: [
        { path: '/*', cost: 3, atMost: undefined },
        { path: '/ask', cost: 6, atMost: 60 },
      ],
      deprecations: [
        { operation: 'GET /{any}', sunset: '2026-02-01T00:00:00.000Z', replacement: '/v2' },
      ],
    })
    t.notMatch((await ask('/docs/terms.json')).text, /secret-account|k3yVb0TQnW8d/)
    const page = await ask('/docs')
    t.equal(page.status, 200, 'a deprecated pattern that its path fits doesn’t end it')
    t.notOk(page.headers['deprecation'])
    await reload(gateway, '')
    t.equal((await ask('/docs')).status, 401, 'a portal that is taken away is gone')
  },
)

t.test('each reload reads the document again; an unsound one changes nothing', async (t) => {
  const file = join(documents, 'api.yaml')
  const write = (title: string, paths = '{}'): void =>
    writeFileSync(
      file,
      `openapi: 3.1.0\ninfo: { title: ${title}, version: 1.0.0 }\npaths: ${paths}\n`,
    )
  write('One')
  const { gateway, ask } = await startAdmin(t, {
    more: `portal: { openapi: ${file} }`,
  })
  const titleNow = async () =>
    (json((await gateway.call('GET', '/docs/openapi.json')).text)['info'] as { title: string })
      .title
  t.equal(await titleNow(), 'One')
  write('Two')
  t.match(await ask('POST', '/admin/config/reload'), { status: 200, text: /"changed"/ })
  t.equal(await titleNow(), 'Two')
  write('Three', '[]')
  const refused = await ask('POST', '/admin/config/reload')
  t.match(refused.text, /api\.yaml:3:8: paths must be an object of paths/)
  t.equal(await titleNow(), 'Two')
})
