import t from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { json } from '../../support/http.ts'
import { startRedis } from '../../support/redis.ts'

t.test('a damaged value in Redis is named, and the rest of a list is shown', async (t) => {
  const { url, client } = await startRedis(t)
  const { ask, gateway } = await startAdmin(t, { store: `redis: "${url}"` })
  const [sound, hurt] = [await gateway.key({ name: 'Sound' }), await gateway.key({ name: 'Hurt' })]
  for (const { headers } of [sound, hurt]) {
    t.equal((await gateway.call('GET', '/v1/x', undefined, headers)).status, 200)
  }
  const [path, quota] = [`/admin/keys/${hurt.key.id}`, `/admin/quota/${hurt.key.id}`]
  const names = await client.keys('*')
  const ofHurt = names.filter((name) => name.endsWith(`quota:key:${hurt.key.id}`))
  t.equal(ofHurt.length, 1)
  const [name = ''] = ofHurt
  for (const damage of [
    () => client.set(name, 'x'),
    async () => {
      await client.del(name)
      await client.hset(name, 'c', 'x')
    },
  ]) {
    await damage()
    for (const each of [path, quota]) {
      t.match(json(await ask('GET', each)), {
        code: 'internal_error',
        message: /^In Redis, tollgate:quota:key:.* isn't as Tollgate writes it .* delete it\.$/,
      })
    }
    const { keys } = json(await ask('GET', '/admin/keys?standing=true')) as { keys: object[] }
    t.match(keys, [{ name: 'Hurt' }, { name: 'Sound', standing: { day: { used: 1 } } }])
    t.notOk('standing' in (keys[0] ?? {}))
  }
})

t.test('whatever is damaged in Redis, each list is shown or says what is', async (t) => {
  const { url, client } = await startRedis(t)
  const { ask, gateway } = await startAdmin(t, { store: `redis: "${url}"` })
  const { headers, key } = await gateway.key()
  await gateway.call('GET', '/v1/x', undefined, headers)
  await gateway.app.front.flushCounts()
  const paths = [
    ...['/admin/keys', '/admin/keys?standing=true', `/admin/keys/${key.id}`, '/admin/gateways'],
    ...[`/admin/quota/${key.id}`, '/admin/audit', '/admin/usage', '/admin/bans', '/admin/notices'],
  ]
  let told = 0
  for (const name of await client.keys('*')) {
    const [whole, isText] = [await client.dumpBuffer(name), (await client.type(name)) === 'string']
    for (const path of paths) {
      // Gateways beat, and caches are written meanwhile.
      await client.del(name)
      if (isText) await client.hset(name, 'a', 'b')
      else await client.set(name, 'x')
      const answer = await ask('GET', path)
      const isFine = answer.status === 200 || answer.text.includes('In Redis, ')
      t.ok(isFine, `${name}: ${path}: ${answer.status} ${answer.text.slice(0, 200)}`)
      if (answer.status !== 200) told++
    }
    await client.del(name)
    // A gateway writes the record of the store anew when it misses it.
    await client.restore(name, 0, whole ?? '', 'REPLACE')
  }
  t.ok(told > 10, `${told} are told`)
})
