import t from 'tap'
import { isError, most } from '../../support/backend-errors.ts'
import { startStore } from '../../support/backend.ts'
import { json } from '../../support/http.ts'

t.test('pets, as the interface document describes them', async (t) => {
  const { call } = await startStore(t)

  t.test('POST /v1/pets adds one and says where it is', async (t) => {
    const answer = await call('POST', '/v1/pets', { name: '  Rex ', categoryId: 3 })
    t.equal(answer.status, 201)
    t.equal(answer.headers['location'], '/v1/pets/1')
    t.equal(answer.text, '{"id":1,"name":"Rex","categoryId":3,"status":"available"}')
    for (const status of ['available', 'pending', 'sold']) {
      const { text } = await call('POST', '/v1/pets', { name: 'Luna', categoryId: 3, status })
      t.equal(json(text)['status'], status)
    }
  })

  t.test('GET /v1/pets/{petId} reads one, HEAD tells the same without it', async (t) => {
    const answer = await call('GET', '/v1/pets/1')
    t.equal(answer.text, '{"id":1,"name":"Rex","categoryId":3,"status":"available"}')
    const head = await call('HEAD', '/v1/pets/1')
    t.equal(head.status, 200)
    t.equal(head.headers['content-length'], String(answer.text.length))
    t.equal(head.text, '')
  })

  t.test('a petId that is no positive int64 is an animal that does not exist', async (t) => {
    const ids = ['999', '0', '-1', 'abc', '1.0', '01', '1e0', '%201', '9223372036854775808', most]
    for (const id of [...ids, '9'.repeat(190)]) {
      for (const [method, body] of [
        ['GET'],
        ['PUT', { name: 'x', categoryId: 1 }],
        ['PATCH', {}],
        ['DELETE'],
      ] as const) {
        isError(t, await call(method, `/v1/pets/${id}`, body), 404, 'not_found')
      }
    }
    isError(t, await call('GET', `/v1/pets/${'9'.repeat(500)}`), 404, 'not_found')
  })

  t.test('PUT replaces, PATCH merges, DELETE removes', async (t) => {
    const put = await call('PUT', '/v1/pets/2', { name: 'Milo', categoryId: 9, status: 'sold' })
    t.equal(put.text, '{"id":2,"name":"Milo","categoryId":9,"status":"sold"}')
    const bare = await call('PUT', '/v1/pets/2', { name: 'Milo', categoryId: 9 })
    t.equal(json(bare)['status'], 'available', 'a replacement without a status is available')
    const patch = await call('PATCH', '/v1/pets/2', { status: 'pending', color: 'red' })
    t.equal(patch.text, '{"id":2,"name":"Milo","categoryId":9,"status":"pending"}')
    const merge = { 'content-type': 'application/merge-patch+json' }
    t.equal((await call('PATCH', '/v1/pets/2', '{}', merge)).text, patch.text)
    isError(
      t,
      await call('PATCH', '/v1/pets/2', { status: null }),
      400,
      'invalid_request',
      /status must be one of/,
    )
    const removed = await call('DELETE', '/v1/pets/2')
    t.equal(removed.status, 204)
    t.equal(removed.text, '')
    isError(t, await call('GET', '/v1/pets/2'), 404, 'not_found')
    isError(t, await call('DELETE', '/v1/pets/2'), 404, 'not_found')
    const { text } = await call('POST', '/v1/pets', { name: 'New', categoryId: 1 })
    t.equal(json(text)['id'], 5, 'the id of a removed animal is not given to another')
  })
})

t.test('GET /v1/pets lists', async (t) => {
  const { call } = await startStore(t)
  t.equal((await call('GET', '/v1/pets')).text, '[]', 'an empty list is an empty array')
  for (let i = 1; i <= 130; i++) {
    await call('POST', '/v1/pets', {
      name: `p${i}`,
      categoryId: 1,
      status: i % 2 ? 'sold' : 'pending',
    })
  }
  const list = async (query: string) => {
    const answer = await call('GET', `/v1/pets${query}`)
    const ids = (JSON.parse(answer.text) as { id: number }[]).map(({ id }) => id)
    return { ids, link: answer.headers['link'] }
  }

  t.equal((await list('')).ids.length, 20, '20 unless told')
  t.equal((await list('?limit=1')).ids.length, 1)
  t.equal((await list('?limit=100')).ids.length, 100)
  t.strictSame((await list('?status=sold&limit=3')).ids, [1, 3, 5])
  t.strictSame(await list('?status=available'), { ids: [], link: undefined })
  t.strictSame(await list('?after=130'), { ids: [], link: undefined })
  t.strictSame(await list(`?after=${most}`), { ids: [], link: undefined })
  t.strictSame(
    await list('?limit=2&after=128'),
    { ids: [129, 130], link: undefined },
    'a full last page has no next',
  )

  for (const start of ['?limit=7', '?limit=7&status=pending']) {
    const seen: number[] = []
    for (let query: string | undefined = start; query;) {
      const page: Awaited<ReturnType<typeof list>> = await list(query)
      seen.push(...page.ids)
      query = /^<\/v1\/pets(\?[^>]+)>; rel="next"$/.exec(String(page.link))?.[1]
    }
    const all = Array.from({ length: 130 }, (_, i) => i + 1)
    t.strictSame(
      seen,
      start.includes('pending') ? all.filter((id) => id % 2 === 0) : all,
      `each animal once by following ${start}`,
    )
  }

  for (const [query, sentence] of [
    ['limit=0', /limit must be a whole number from 1 to 100, got "0"/],
    ['limit=101', /limit/],
    ['limit=', /limit/],
    ['limit=5.0', /limit/],
    ['limit=1e1', /limit/],
    ['limit=abc', /limit/],
    ['limit=5&limit=6', /limit is given more than once/],
    ['after=-1', /after must be an id/],
    ['after=9223372036854775808', /after/],
    ['after=1&after=2', /more than once/],
    ['status=Sold', /status must be one of available, pending, sold, got "Sold"/],
    ['status=', /status/],
    ['status=sold&status=sold', /more than once/],
  ] as const) {
    isError(t, await call('GET', `/v1/pets?${query}`), 400, 'invalid_request', sentence)
  }
  t.equal((await call('GET', '/v1/pets?unknown=1')).status, 200, 'unknown parameters are ignored')
})

t.test('int64 means int64', async (t) => {
  const { call } = await startStore(t)
  for (const digits of ['9007199254740993', most, `-${most.slice(0, -1)}8`, '0']) {
    const { text } = await call('POST', '/v1/pets', `{"name":"x","categoryId":${digits}}`)
    t.match(text, `"categoryId":${digits},`, `${digits} comes back digit for digit`)
    const id = String(json(text)['id'])
    t.match((await call('GET', `/v1/pets/${id}`)).text, `"categoryId":${digits},`)
    t.match(
      (await call('GET', `/v1/pets?limit=1&after=${Number(id) - 1}`)).text,
      `"categoryId":${digits},`,
    )
    t.match((await call('PATCH', `/v1/pets/${id}`, { name: 'y' })).text, `"categoryId":${digits},`)
  }
  for (const other of [
    '9223372036854775808',
    '-9223372036854775809',
    '5.0',
    '5.5',
    '1e3',
    '"5"',
    'true',
    'null',
    '[5]',
    '{}',
    '9'.repeat(400),
  ]) {
    const answer = await call('POST', '/v1/pets', `{"name":"x","categoryId":${other}}`)
    isError(t, answer, 400, 'invalid_request', /^categoryId must be a whole number in plain digits/)
    t.ok(
      String(json(answer)['message']).includes(`got ${other.slice(0, 40)}`),
      'and shows what came',
    )
  }
})

t.test('orders', async (t) => {
  const { call, database } = await startStore(t, { clock: () => Date.UTC(2026, 0, 2, 3, 4, 5) })
  for (let i = 0; i < 3; i++) await call('POST', '/v1/pets', { name: `p${i}`, categoryId: 1 })

  const placed = await call('POST', '/v1/store/orders', { petId: 2 })
  t.equal(placed.status, 201)
  t.equal(placed.headers['location'], '/v1/store/orders/1')
  t.equal(placed.text, '{"id":1,"petId":2,"createdAt":"2026-01-02T03:04:05.000Z"}')
  t.equal((await call('GET', '/v1/store/orders/1')).text, placed.text)
  t.equal(json(await call('GET', '/v1/pets/2'))['status'], 'pending')
  isError(
    t,
    await call('POST', '/v1/store/orders', { petId: 2 }),
    409,
    'conflict',
    /2 is pending, not available/,
  )
  isError(t, await call('POST', '/v1/store/orders', { petId: 99 }), 404, 'not_found')
  isError(
    t,
    await call('POST', '/v1/store/orders', { petId: '1' }),
    400,
    'invalid_request',
    /^petId must be/,
  )
  isError(
    t,
    await call('POST', '/v1/store/orders', {}),
    400,
    'invalid_request',
    /^petId is missing/,
  )
  isError(t, await call('GET', '/v1/store/orders/9'), 404, 'not_found')
  isError(t, await call('GET', '/v1/store/orders/x'), 404, 'not_found')
  const both = await Promise.all([1, 1].map((petId) => call('POST', '/v1/store/orders', { petId })))
  t.strictSame(
    both.map(({ status }) => status).sort(),
    [201, 409],
    'of two at once, one gets the animal',
  )
  await call('POST', '/v1/store/orders', { petId: 3 })
  const page = await call('GET', '/v1/store/orders?limit=2')
  t.equal(page.headers['link'], '</v1/store/orders?limit=2&after=2>; rel="next"')
  t.equal(
    (JSON.parse((await call('GET', '/v1/store/orders?limit=2&after=2')).text) as []).length,
    1,
  )

  database.exec(
    `CREATE TRIGGER broken BEFORE INSERT ON orders BEGIN SELECT RAISE(ABORT, 'broken'); END`,
  )
  await call('PATCH', '/v1/pets/1', { status: 'available' })
  isError(t, await call('POST', '/v1/store/orders', { petId: 1 }), 500, 'internal_error')
  t.equal(
    json(await call('GET', '/v1/pets/1'))['status'],
    'available',
    'an order that fails reserves nothing',
  )
})
