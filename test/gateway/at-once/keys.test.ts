import t from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { json } from '../../support/http.ts'

t.test('keys and caps have limits of their own, which operators see and free', async (t) => {
  const { ask, gateway } = await startAdmin(t, {
    more: 'plans: { free: { perMinute: 60, perDay: 1000, atOnce: 2 } }',
  })
  const { stores } = gateway
  const made = json(
    await ask('POST', '/admin/keys', {
      ...{ name: 'Batch', plan: 'free', account: 'acme' },
      ...{ limits: { atOnce: 5 }, cap: { atOnce: 3 } },
    }),
  ) as { id: string; key: string }
  const { id, key: token } = made
  t.match(json(await ask('GET', `/admin/keys/${id}`)), {
    limits: { atOnce: 5 },
    cap: { atOnce: 3 },
    standing: { atOnce: { limit: 5, used: 0 }, cap: { atOnce: { limit: 3, used: 0 } } },
  })
  const told = { by: 'other', number: 1, settled: 0, held: new Map([['', 4]]) }
  await stores.quota.tellPlaces([{ quota: 'account:acme', told }])
  t.match(json(await ask('GET', `/admin/quota/${id}`)), {
    atOnce: { limit: 5, used: 4 },
    underWay: [{ gateway: 'other', count: 4 }],
  })
  const changed = json(await ask('PATCH', `/admin/keys/${id}`, { limits: { atOnce: 4 } }))
  t.match(changed, { limits: { atOnce: 4 } })
  const call = () => gateway.call('GET', '/v1/x', undefined, { authorization: `Bearer ${token}` })
  t.match(json(await call()), { message: /^4 of 4 requests are under way/ })
  t.equal((await ask('POST', `/admin/quota/${id}/reset`)).status, 200)
  t.equal((await call()).status, 429, 'a reset leaves them')
  t.equal((await ask('POST', `/admin/quota/${id}/reset`, { places: true })).status, 200)
  t.equal((await call()).status, 200)
  t.match(json(await ask('GET', '/admin/audit?limit=1')), [{ what: 'quota.places' }])
  for (const atOnce of [0, 100_001, 1.5, 'many']) {
    const { status } = await ask('PATCH', `/admin/keys/${id}`, { limits: { atOnce } })
    t.equal(status, 400, String(atOnce))
  }
  const bare = json(
    await ask('PATCH', `/admin/keys/${id}`, { limits: { atOnce: null }, cap: null }),
  )
  t.equal((bare as { limits?: unknown }).limits, undefined)
  t.match(
    json(await ask('GET', `/admin/quota/${id}`)),
    { atOnce: { limit: 2 } },
    'the plan’s again',
  )
})
