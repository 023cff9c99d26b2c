import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RedisSettings } from '../../../gateway/front/config/config.ts'
import { RecentRefusals } from '../../../gateway/front/counts/recent-refusals.ts'
import type { Batch } from '../../../gateway/front/shelves/counts.ts'
import type { RefusedKey } from '../../../gateway/front/counts/timeline-store.ts'
import { Timeline } from '../../../gateway/front/counts/timeline.ts'
import type { Caller } from '../../../gateway/front/keys/caller.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { timelineOn } from '../../../gateway/front/counts/timeline-store.ts'
import { embeddedCounts } from '../../../gateway/front/stores/embedded/counts.ts'
import { connect } from '../../../gateway/front/stores/redis/connect.ts'
import { redisCounts } from '../../../gateway/front/stores/redis/counts.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { timelineStoreContract } from '../../contracts/timeline.ts'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { endedFor } from '../../support/ended.ts'
import { explanationOf, type Found } from '../../support/explained.ts'
import { collectGarbage } from '../../support/garbage.ts'
import type { Gateway } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { bound } from '../../support/promises.ts'
import { keepRefusal } from '../../support/kept-refusals.ts'
import { token } from '../../support/operator.ts'
import { startCluster, startRedis, watchCommands } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

/** Stores that all tests of this file share, each with a prefix of its own. */
const [redis, cluster] = await Promise.all([startRedis(t), startCluster(t)])

async function redisTimelines(t: Test, settings: RedisSettings) {
  const connections = [1, 2].map(() => connect(settings, { timeoutMs: 2_000 }))
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  await until(() => connections.every(({ status }) => status === 'ready'))
  const [first, second] = connections.map((connection) =>
    timelineOn(redisCounts({ connection, prefix: 'test:', timeoutMs: 2_000 })),
  )
  if (!first || !second) throw new Error('two were asked for')
  return { first, second }
}

void timelineStoreContract(t, 'embedded, in a SQLite file', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const [one, two] = [openGatewayFile(file), openGatewayFile(file)]
  for (const database of [one, two]) database.pragma('synchronous = OFF')
  t.teardown(() => [one, two].forEach((database) => database.close()))
  return Promise.resolve({
    first: timelineOn(embeddedCounts(one)),
    second: timelineOn(embeddedCounts(two)),
  })
})

void timelineStoreContract(t, 'redis, a single server', async (t) =>
  redisTimelines(t, { url: redis.url }),
)

void timelineStoreContract(t, 'redis, a Cluster', async (t) =>
  redisTimelines(t, { cluster: cluster.nodes }),
)

t.test(
  'a request is explained by any gateway of a fleet, and by the command line',
  { jobs: 2 },
  async (t) => {
    void t.test('with one Redis, which is told no token', async (t) => {
      const commands = await watchCommands(t, redis)
      const secret = await explainsTheFleet(t, `redis: "${redis.url}"`)
      t.match(commands.join('\n'), /publish \S+questions/i)
      t.notMatch(commands.join('\n'), secret.slice(20))
    })
    void t.test('with a Cluster', async (t) => {
      await explainsTheFleet(t, `redis: { cluster: [ ${cluster.nodes.join()} ] }`)
    })
    return t
  },
)

/** Gives back a token that was explained. */
async function explainsTheFleet(t: Test, store: string): Promise<string> {
  const options = { store, clock: Date.now }
  const one = await startAdmin(t, options)
  const { gateway: other } = await startAdmin(t, options)
  await until(() => one.gateway.stores.fleet.size === 2 && other.stores.fleet.size === 2)
  const { key: named, token: secret, headers } = await other.key({ limits: { perMinute: 1 } })
  const { id } = named
  await rename(other, id, 'One\u001b[2J')
  const send = (id: string) =>
    other.call('GET', `/v1/${secret}?key=${secret}`, undefined, {
      ...headers,
      'x-request-id': id,
      'x-canary': secret,
    })
  await until(async () => (await send('order.66_x-1')).status === 429)
  const began = performance.now()
  const answer = await one.ask('GET', '/admin/requests/order.66_x-1')
  const took = performance.now() - began
  t.ok(took < 1_000, `${took} ms`)
  const { answers, gateways } = json(answer) as unknown as Found
  t.strictSame(gateways, { asked: 2, answered: 2 })
  t.match(answers[0], { code: 'rate_limit_exceeded', reason: 'minute', route: '/v1/*' })
  t.notMatch(answer.text, secret.slice(20), 'no token is told')

  const explain = (...words: string[]) =>
    runCommand(['explain', ...words, '--config', one.file], {})
  const explained = await explain('order.66_x-1')
  t.equal(explained.code, 0, explained.out)
  t.match(explained.stdout, /^429 rate_limit_exceeded, .*: 1 of 1 in this minute were used/)
  t.notMatch(explained.out, /\u001b|undefined/)
  t.notMatch(explained.out, secret.slice(20))
  t.match(JSON.parse((await explain('order.66_x-1', '--json')).stdout), { answers: [{}] })

  await other.app.front.flushCounts()
  const ofKey = await explain('One\u001b[2J')
  t.match(ofKey.stdout, /Last refused in the minute .*: \d+ refusals?, minute: 1 of 1 used\./)
  t.notMatch(ofKey.out, /\u001b/)
  t.equal((await explain(id)).code, 0)

  const nobody = await explain('order-67')
  t.equal(nobody.code, 1)
  t.match(nobody.out, /no key with the id or name "order-67"; and no refused or failed answer has/)
  t.match(nobody.out, /2 gateways keep \d+ refused or failed answers, all since/)
  for (const odd of [
    'x'.repeat(5_000),
    '../..',
    '%00',
    '"; DROP',
    '💥',
    `atg_${'A'.repeat(12)}_${'b'.repeat(38)}`,
  ]) {
    const { code, out } = await explain(odd)
    t.equal(code, 1, odd.slice(0, 20))
    t.notMatch(out, /b{20}/)
  }

  // A key may have the name of a request's id.
  await other.key({ name: 'order.66_x-1' })
  const both = await explain('order.66_x-1')
  t.equal(both.code, 1)
  t.match(both.out, /is the id of .* and names the key \w{12}/)
  await other.key({ name: 'order.66_x-1' })
  t.match((await explain('order.66_x-1')).out, /is the name of 2 keys/)
  t.match((await explain(id, '--days', '8')).out, /--days must be a whole number from 1 to 7/)
  t.match((await explain(secret)).out, /a token is a secret/)
  for (const [words, why] of [
    [['--at', '2099-01-01'], /--at is in the future/],
    [['--at', '2020-01-01'], /longer ago than the 7 days/],
    [['--at', new Date().toISOString(), '--days', '1'], /contradict each other/],
  ] as const) {
    t.match(await explain(id, ...words), { code: 2, out: why })
  }
  t.equal((await explain(id, '--at', '1m')).code, 0, 'a minute ago')
  t.match((await explain(id, '--at', '8d')).out, /longer ago than the 7 days/)
  const ago = json(await one.ask('GET', `/admin/keys/${id}/timeline?from=2h&to=1h`))
  t.equal(Date.parse(String(ago['to'])) - Date.parse(String(ago['from'])), 3_600_000)
  const later = json(await one.ask('GET', `/admin/keys/${id}/timeline?to=2099-12-31`))
  t.not((later['lines'] as unknown[]).length, 0, 'an end in the future leaves out nothing')

  // One that takes part in the fleet, and never answers.
  const { stores } = other
  const silent = { ...other.app.front.self.memberOf('x'), id: 'silent' }
  const leave = stores.fleet.join(
    () => silent,
    () => undefined,
  )
  await until(() => one.gateway.stores.fleet.size === 3)
  const beganAgain = performance.now()
  const two = json(await one.ask('GET', '/admin/requests/order.66_x-1')) as unknown as Found
  const tookAgain = performance.now() - beganAgain
  t.strictSame(two.gateways, { asked: 3, answered: 2 })
  t.ok(tookAgain < bound(1_500) && two.answers.length === 1, `${tookAgain} ms`)
  t.match((await explain('order-67')).out, /2 of 3 gateways answer, and keep/)
  await leave()
  return secret
}

/** Gives a key a name that operators can't give: another program may have written to the store. */
async function rename({ stores }: Gateway, id: string, name: string): Promise<void> {
  const stored = await stores.keys.get(id)
  if (!stored) throw new Error(`there is no key ${id}`)
  await stores.keys.replace({ ...stored.key, name }, stored.version)
}

t.test('a gateway that is alone is asked at its admin address', async (t) => {
  const { gateway, ask, url, write, file } = await startAdmin(t, {
    admin: `{ host: 127.0.0.1, port: 1 }`,
  })
  const answer = await gateway.call('GET', '/v1/pets', undefined, { 'x-request-id': 'alone' })
  t.equal(answer.status, 401)
  await explanationOf(ask, answer)
  const explain = (what: string) =>
    runCommand(['explain', what, '--config', file], { ADMIN_TOKEN: token })
  t.match((await explain('alone')).out, /no gateway answers at/)
  const { key } = await gateway.key({ name: 'Silent' })
  t.match(
    (await explain('Silent')).stdout,
    `“Silent” is active`,
    'keys are explained from the file',
  )
  t.match((await explain(key.id)).stdout, 'Nothing was refused')
  write((text) =>
    text.replace(/^admin: .*$/m, `admin: { host: 127.0.0.1, port: ${new URL(url).port} }`),
  )
  t.match((await explain('alone')).stdout, /^401 missing_api_key, .*: No API key was sent\./)
  t.match((await explain('nothing')).out, /1 gateway keeps 1 refused or failed answers, all since/)
})

t.test('the README’s example is 140 refusals and one ban in the timeline', async (t) => {
  let now = Date.UTC(2026, 5, 15, 12)
  const { gateway, ask } = await startAdmin(t, { clock: () => now })
  const { key, call } = gateway
  const { key: one, headers } = await key({ name: 'Acme' })
  const send = async (times: number) => {
    const all = Array.from({ length: times }, () => call('GET', '/v1/pets', undefined, headers))
    return Promise.all(all)
  }
  const refused = (await send(200)).filter(({ status }) => status === 429)
  t.equal(refused.length, 140)
  const { graceMs } = gateway.config.bans
  // As many as a minute lets in.
  const strikes = 60
  now += graceMs + 1
  await send(strikes)
  const timeline = json(await ask('GET', `/admin/keys/${one.id}/timeline`))
  await until(async () => {
    const lines = await gateway.stores.audit.list({ fromMs: 0, limit: 9, subject: one.id })
    return lines.length > 0
  })
  const told = json(await ask('GET', `/admin/keys/${one.id}/timeline`))
  const limits = { limit: 60, used: 60 }
  t.match(timeline['lines'], [
    {
      ...{ at: '2026-06-15T12:00:00.000Z', what: 'refused' },
      ...{ code: 'rate_limit_exceeded', reason: 'minute', ...limits },
      count: 140 + strikes - 1,
    },
    { what: 'refused', code: 'key_banned', reason: 'ban', count: 1, limit: null },
  ])
  const bans = (told['lines'] as { what: string; by?: string }[]).filter(({ what }) =>
    what.startsWith('bans.'),
  )
  t.match(bans, [
    { what: 'bans.earn', by: 'gateway', after: { strikes, until: '2026-06-15T12:01:02.000Z' } },
  ])
  t.equal(bans.length, 1)
  t.match(
    told['sentence'],
    /^“Acme.* is banned until 2026-06-15 12:01:02Z \(in 1 min\): it sent 60 requests after a 429 had asked it to wait\.$/,
  )
  now += 20 * 60_000
  const later = json(await ask('GET', `/admin/keys/${one.id}/timeline?from=2026-06-15T12:10:00Z`))
  t.strictSame(later['lines'], [])
  for (const query of ['from=yesterday', 'from=2026-06-16&to=2026-06-15', 'form=2026-06-15']) {
    t.equal((await ask('GET', `/admin/keys/${one.id}/timeline?${query}`)).status, 400, query)
  }
})

t.test('a million refusals leave nothing behind but their slots', (t) => {
  const heap = (): number => {
    collectGarbage()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return (heapUsed + arrayBuffers) / 2 ** 20
  }
  const before = heap()
  const refusals = new RecentRefusals(0)
  for (let i = 0; i < 1_000_000; i++) keepRefusal(refusals, `request-${i}`, `/v1/${i}`, i)
  const grown = heap() - before
  t.ok(grown < 15, `${grown.toFixed(1)} MB`)
  t.equal(refusals.count, 20_000)
  t.equal(refusals.sinceMs, 980_000)
  t.match(refusals.find('request-999999'), [{ path: '/v1/999999', atMs: 999_999 }])
  t.strictSame(refusals.find('request-979999'), [])
  t.end()
})

t.test('a key that is refused without end keeps nothing else from being written', async (t) => {
  const added: Batch<RefusedKey>[] = []
  const { gateway } = await startAdmin(t)
  const one = await gateway.key()
  const callerOf = ({ token }: typeof one): Caller => {
    const found = gateway.app.front.directory.look(token)
    if (typeof found === 'string' || found instanceof Promise) throw new Error('it is there')
    return found
  }
  const refuse = (caller: Caller, reason: 'method' | 'path'): void => {
    const refusal = new Refusal('forbidden', 'No.').because(reason)
    timeline.count(endedFor({ caller, refusal, atMs: 1_000 }))
  }
  const [busy, other] = [callerOf(one), callerOf(await gateway.key())]
  const timeline = new Timeline({
    add: (batch) => {
      added.push(batch)
      // The next refusal comes before the store has answered.
      refuse(busy, 'method')
      return Promise.resolve()
    },
  })
  for (let i = 0; i < 30_000; i++) refuse(busy, i % 2 === 0 ? 'method' : 'path')
  for (let i = 0; i < 100; i++) refuse(other, 'path')
  await timeline.write()
  t.equal(added.length, 1, 'it ends')
  const counts = added.flatMap(({ lines }) => lines.map(({ key, count }) => [key, count]))
  t.strictSame(counts, [
    [busy.id, 15_000],
    [busy.id, 15_000],
    [other.id, 100],
  ])
  await timeline.write()
  t.match(added[1]?.lines, [{ key: busy.id, count: 1 }], 'later ones come with the next')
})
