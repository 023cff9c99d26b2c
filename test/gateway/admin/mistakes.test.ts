import t from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { json } from '../../support/http.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

t.test('what can’t be done is told in a sentence, and changes nothing', async (t) => {
  const { ask, gateway } = await startAdmin(t)
  const made = json(await ask('POST', '/admin/keys', { name: 'A', plan: 'free' }))
  const id = String(made['id'])
  for (let i = 0; i < 2; i++) await ask('POST', '/admin/keys', { name: 'Twin', plan: 'free' })
  for (const [method, path, body, status, message] of [
    ['POST', '/admin/keys', { name: 'x' }, 400, /plan is missing\./],
    [
      'POST',
      '/admin/keys',
      { nmae: 'x', plan: 'free' },
      400,
      /no setting "nmae"; did you mean name\?/,
    ],
    ['POST', '/admin/keys', { name: 5, plan: 'free' }, 400, /name must be a text, got 5/],
    [
      'POST',
      '/admin/keys',
      { name: 'x', plan: 'gold' },
      400,
      /There is no plan "gold"; there are free/,
    ],
    ['POST', '/admin/keys', { name: 'x', plan: 'enterprise' }, 400, /is custom/],
    [
      'POST',
      '/admin/keys',
      { name: 'x', plan: 'free', expiresAt: 'soon' },
      400,
      /expiresAt must be a day/,
    ],
    ['POST', '/admin/keys', { name: 'x'.repeat(2 ** 18), plan: 'free' }, 413, /larger than/],
    ['POST', '/admin/keys', '{', 400, /The body isn’t valid JSON/],
    [
      'POST',
      '/admin/keys',
      '[]',
      400,
      /the body must be an object with "plan" and "name", got \[\]/,
    ],
    [
      'PATCH',
      `/admin/keys/${id}`,
      { limits: { perMinute: 0 } },
      400,
      /limits\.perMinute must be a whole number/,
    ],
    [
      'POST',
      `/admin/keys/${id}/rotate`,
      { overlap: 'long' },
      400,
      /overlap must be 0 or a duration/,
    ],
    [
      'POST',
      '/admin/keys',
      { name: 5, more: 'x'.repeat(32_768) },
      400,
      /it must be an object with "plan" and "name"; the mistakes of a body over 32 KiB aren’t told/,
    ],
    ['PUT', `/admin/bans/${id}`, {}, 400, /for is missing/],
    [
      'GET',
      '/admin/keys/Twin',
      undefined,
      400,
      /"Twin" is the name of 2 keys: \w{12} .*Give the id/,
    ],
    ['PATCH', '/admin/keys/Twin', { plan: 'pro' }, 400, /"Twin" is the name of 2 keys/],
    [
      'GET',
      '/admin/keys/Twi',
      undefined,
      404,
      /no key with the id or name "Twi"; similar names: \w{12}/,
    ],
    ['PUT', '/admin/bans/nobody', { for: '5m' }, 404, /no key with the id/],
    ['GET', '/admin/keys/nobody', undefined, 404, /no key with the id/],
    ['GET', '/admin/usage/nobody', undefined, 404, /no key with the id/],
    ['GET', '/admin/quota/nobody', undefined, 404, /no key with the id/],
    ['GET', '/admin/usage?days=91', undefined, 400, /days must be a whole number from 1 to 90/],
    ['GET', '/admin/audit?limit=0', undefined, 400, /limit must be/],
    ['POST', '/admin/upstreams/check', { url: 'ftp://x' }, 400, /url must be an http/],
    [
      'POST',
      '/admin/upstreams/check',
      { url: gateway.upstream.url, upstream: 'no' },
      400,
      /no upstream "no"; there are animals/,
    ],
    ['POST', '/admin/keys/import', 'token\nx', 400, /Line 2: /],
    ['GET', '/admin/nothing', undefined, 404, /nothing at this path/],
  ] as const) {
    const answer = await ask(method, path, body)
    const called = `${method} ${path} ${JSON.stringify(body)}`
    t.match(json(answer), { status, message }, called)
    t.equal(answer.status, status, called)
  }
  const audit = json(await ask('GET', '/admin/audit')) as unknown as unknown[]
  t.equal(audit.length, 3, 'none of it is in the audit')
  t.match(await ask('POST', '/admin/keys', '<x/>', { 'content-type': 'text/xml' }), { status: 415 })
})

t.test('a query with what is not known, or twice, is refused', async (t) => {
  const { ask } = await startAdmin(t)
  const { id } = json(await ask('POST', '/admin/keys', { name: 'A', plan: 'free' }))
  for (const [method, target, message] of [
    ['GET', '/admin/usage?dys=1', 'There is no parameter "dys"; did you mean days?'],
    ['GET', '/admin/usage?days=1&days=2', 'days can be given only once.'],
    ['GET', '/admin/audit?key=a&key=b', 'key can be given only once.'],
    ['HEAD', '/admin/audit?key=a&key=b', undefined],
    [
      'GET',
      '/admin/keys?revoked',
      'There is no parameter "revoked"; there are search, name, plan, account, reference, state, unused, neverUsed, oldTokenUsed, all, limit, after, sort, standing.',
    ],
    ['GET', '/admin/keys?all=no', 'all must be true or false.'],
    ['GET', '/admin/usage?days=0', 'days must be a whole number from 1 to 90.'],
    ['GET', '/admin/keys?limit=0', 'limit must be a whole number from 1 to 1000.'],
    ['GET', '/admin/keys?state=gone', 'state must be active, disabled, expired or revoked.'],
    ...['x', 'AAAA', '..', 'YQ', 'YQFi', 'YQFiA%3D', '%00', '%ff', 'x'.repeat(5_000)].map(
      (cursor) =>
        [
          'GET',
          `/admin/keys?after=${cursor}`,
          'after must be the "next" of a page, as it was given.',
        ] as const,
    ),
    [
      'POST',
      `/admin/keys/${String(id)}/revoke?dry=true`,
      'There is no parameter "dry"; this endpoint takes none.',
    ],
  ] as const) {
    const answer = await ask(method, target)
    t.equal(answer.status, 400, target)
    if (message) t.match(json(answer), { code: 'invalid_request', message }, target)
  }
  t.match(json(await ask('GET', `/admin/keys/${String(id)}`)), { state: 'active' })
  await ask('POST', `/admin/keys/${String(id)}/revoke`)
  for (const [query, length] of [
    ['', 0],
    ['?all=false', 0],
    ['?all=true', 1],
    ['?all', 1],
    ['?all&search=&name=&plan=&account=&state=&limit=&after=', 1],
  ] as const) {
    const keys: unknown = JSON.parse((await ask('GET', `/admin/keys${query}`)).text)
    t.match(keys, { length }, query)
  }
})

t.test('a body that says nothing, or would not be heeded, is refused', async (t) => {
  const { ask } = await startAdmin(t)
  const limits = { perMinute: 5, perDay: 6 }
  const made = await ask('POST', '/admin/keys', { name: 'A', plan: 'free', limits })
  const key = `/admin/keys/${String(json(made)['id'])}`
  const id = String(json(made)['id'])
  for (const [method, path, body, message] of [
    ['PATCH', key, {}, /^No change was given; name at least one setting\.$/],
    ['PATCH', key, '', /^No change was given; name at least one setting\.$/],
    ['PATCH', key, { limits: {} }, /^No change was given; name at least one setting\.$/],
    ['PATCH', key, { limits: 5 }, /limits must be an object, or null, got 5/],
    ['PATCH', key, { methods: [] }, /methods must be a list of at least one text, or null/],
    ['POST', '/admin/keys', { name: 'B', plan: 'free', paths: [] }, /paths must be a list of at/],
    ['PUT', `/admin/bans/${id}`, { for: '0s' }, /for must be a duration such as 30m or 24h/],
    ['POST', `${key}/revoke`, { at: '2030-01-01' }, /takes no body/],
    ['POST', `${key}/disable`, { for: '1h' }, /takes no body/],
    ['DELETE', `/admin/bans/${id}`, '[]', /takes no body/],
    ['POST', `/admin/quota/${id}/reset`, { window: 'day' }, /has no setting "window"/],
    ['POST', '/admin/config/reload', 'plans: {}', /takes no body/],
  ] as const) {
    const answer = json(await ask(method, path, body))
    t.match(answer, { code: 'invalid_request', message, status: 400 }, `${method} ${path}`)
  }
  t.match(json(await ask('GET', key)), { state: 'active', limits })
  t.equal(JSON.parse((await ask('GET', '/admin/audit')).text).length, 1, 'nothing was done')
  t.notOk('limits' in json(await ask('PATCH', key, { limits: null })), 'all are taken away')
  t.match(json(await ask('POST', `${key}/disable`, {})), { state: 'disabled' })
})

t.test('a body of another type or encoding is refused, and told what to send', async (t) => {
  const { ask } = await startAdmin(t)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const [path, types] of [
    ['/admin/keys', 'application/json'],
    ['/admin/keys/import', 'text/csv or application/x-ndjson or text/plain or application/json'],
    ['/admin/config/check', 'application/yaml or text/yaml or text/plain or application/json'],
  ] as const) {
    const message = `Send the body as ${types}.`
    const expected = { code: 'unsupported_media_type', message, status: 415 }
    t.strictSame(json(await ask('POST', path, 'a=b', form)), expected, path)
    const latin1 = Buffer.from('{ "name": "M\u00fcller", "plan": "free" }', 'latin1')
    t.match(json(await ask('POST', path, latin1)), { message: /isn’t in UTF-8/, status: 400 }, path)
  }
  const csv = { 'content-type': 'text/csv' }
  t.equal((await ask('POST', '/admin/keys', '{"name":"A","plan":"free"}', csv)).status, 415)
  t.equal((await ask('POST', '/admin/config/reload', '', form)).status, 200, 'none is of any type')
  const lines =
    '{"token":"an-older-1","plan":"free"}\n{"token":"an-older-2","plan":"pro","name":"Müller"}'
  const ndjson = { 'content-type': 'application/x-ndjson; charset=utf-8' }
  t.strictSame(json(await ask('POST', '/admin/keys/import', lines, ndjson)), { imported: 2 })
  t.match((await ask('GET', '/admin/keys?plan=pro')).text, /"name":"Müller"/)
})

t.test('an import of nothing, or beside another one, is refused', async (t) => {
  const redis = await startRedis(t)
  const { ask } = await startAdmin(t, { store: `redis: "${redis.url}"` })
  const csv = { 'content-type': 'text/csv' }
  const put = async (rows: readonly string[]) =>
    json(await ask('POST', '/admin/keys/import', ['token,plan', ...rows].join('\n'), csv))
  await until(async () => (await ask('GET', '/admin/keys')).status === 200)
  t.match(await put([]), { status: 400, message: /has no rows below the names of its columns\.$/ })
  const many = Array.from({ length: 501 }, (_, i) => `an-older-token-${i},free`)
  await redis.client.set('tollgate:{keys}:import', 'another', 'PX', 60_000)
  const message = 'Another import is running; wait until it has ended.'
  t.strictSame(await put(many), { code: 'conflict', message, status: 409 })
  await redis.client.del('tollgate:{keys}:import')
  t.strictSame(await put(many), { imported: 501 })
})
