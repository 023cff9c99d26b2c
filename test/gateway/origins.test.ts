import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import { json } from '../support/http.ts'
import { until } from '../support/until.ts'

t.test(
  'a key of a page is for that origin alone, letter by letter, and what is refused costs nothing',
  async (t) => {
    const { gateway } = await startAdmin(t)
    const { headers } = await gateway.key({
      origins: ['https://app.example', 'http://localhost:3000'],
    })
    const call = (origin?: string, path = '/v1/x') =>
      gateway.call('GET', path, undefined, {
        ...headers,
        ...(origin === undefined ? {} : { origin }),
      })
    for (const origin of ['https://app.example', 'http://localhost:3000']) {
      t.equal((await call(origin)).status, 200, origin)
    }
    const others = [
      undefined,
      'null',
      '',
      'https://app.example/',
      'https://app.example:443',
      'HTTPS://app.example',
      'https://APP.example',
      'http://app.example',
      'https://evil.example',
      'https://app.example.evil.example',
      'https://app.example https://evil.example',
      'https://app.example, https://evil.example',
      'http://localhost',
    ]
    for (const origin of others) {
      const answer = await call(origin)
      t.match(answer, { status: 403, headers: { 'x-ratelimit-remaining': '58' } }, String(origin))
      t.match(json(answer), { code: 'forbidden', message: /pages of other origins/ })
    }
    for (const path of ['/v1/quota', '/v1/usage'])
      t.equal((await call(undefined, path)).status, 200)
  },
)

t.test('origins are set, put in place of others, and taken away', async (t) => {
  const { gateway, ask } = await startAdmin(t)
  const { key, headers } = await gateway.key()
  const origin = 'https://app.example'
  const status = async (from = origin) =>
    (await gateway.call('GET', '/v1/x', undefined, { ...headers, origin: from })).status
  const change = (origins: unknown) => ask('PATCH', `/admin/keys/${key.id}`, { origins })
  for (const wrong of [
    'app.example',
    '*',
    'null',
    'https://app.example/',
    'ftp://x',
    'https://a b',
    'https://*.example',
    '',
  ]) {
    t.match(await change([wrong]), { status: 400 }, wrong)
  }
  const many = Array.from({ length: 21 }, (_, i) => `https://a${i}.example`)
  t.match(await change(many), { status: 400 })
  t.match(json(await change(['https://other.example'])), { origins: ['https://other.example'] })
  await until(async () => (await status()) === 403)
  t.match(json(await change([origin])), { origins: [origin] })
  await until(
    async () => (await status()) === 200 && (await status('https://other.example')) === 403,
  )
  t.notMatch(json(await change(null)), { origins: [] })
  await until(async () => (await status('https://other.example')) === 200)
})
