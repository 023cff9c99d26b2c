import t from 'tap'
import { start } from '../../support/portal.ts'

t.test('programs read the operations, limits and ends of the API as Markdown', async (t) => {
  const { ask, gateway } = await start(t, {
    routes: `[ { path: /v1/pets, upstream: animals, methods: [ POST ], cost: 5, scopes: [ 'pets:write' ] }, { path: /v1/*, upstream: animals } ]`,
    more: `plans: { free: { perMinute: 60, perDay: 1000, atOnce: 3, operations: { orders: { methods: [ POST ], paths: [ /v1/orders ], perHour: 20 } } }, own: custom }
deprecations: [ { operation: GET /v1/old, since: 2026-01-01, sunset: 2030-01-01, replacement: /v1/pets, extensions: [ { account: secret-account, until: 2031-01-01 } ] } ]`,
  })
  const { status, headers, text } = await ask('/docs/llms.txt')
  t.equal(status, 200)
  t.match(headers, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
  t.match(text, /^# Animal [Ss]tore\n\n> \S/)
  t.match(text, '`Authorization: Bearer KEY`')
  t.match(text, /^- `POST \/v1\/pets`: .*\. Costs 5 points\. Needs the scope pets:write\.$/m)
  t.match(text, /^- `GET \/v1\/pets`: [^\n]*$/m)
  t.notMatch(text.match(/^- `GET \/v1\/pets`.*$/m)?.[0] ?? 'Costs', 'Costs')
  t.match(
    text,
    '- `free`: 60 points a minute, 1,000 points a day, 3 at once; orders: 20 points a hour'.replace(
      'a hour',
      'an hour',
    ),
  )
  t.match(text, '- `own`: as agreed for each key')
  t.match(text, '- `GET /v1/old`, until 2030-01-01 00:00:00Z: use /v1/pets')
  t.match(text, /`Retry-After`/)
  t.match(text, '`GET /v1/quota`')
  t.notMatch(text, 'secret-account')
  for (const [, place = ''] of text.matchAll(/\]\(([^)]+)\)/g)) {
    t.equal((await ask(place)).status, 200, `${place} is there`)
  }
  t.equal(gateway.upstream.seen.length, 0)
})
