import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { unpacked } from '../../gateway/front/counts/refusal-chunk.ts'
import type { RefusalStore } from '../../gateway/front/counts/refusal-store.ts'
import { openStores } from '../../gateway/front/stores/open.ts'
import { readConfig } from '../../gateway/office/config/load.ts'
import type { FoundRefusals } from '../../gateway/office/explain/refusals-of.ts'
import { startAdmin } from '../support/admin.ts'
import { commandLine } from '../support/command-line.ts'
import { gatewaysSeenBy } from '../support/fleet.ts'
import { caller, json } from '../support/http.ts'
import { token } from '../support/operator.ts'
import { adminOf, type Service } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

/** Gateways as processes on one store, and what an operator learns of their refusals. */
async function start(t: Test, store: string) {
  const at = await commandLine(t, store)
  const { store: settings } = readConfig(at.file, {}).config
  const { refusals, ...others } = await openStores(settings, { forCommandLine: true })
  t.teardown(() => others.close())
  const gateway = () => at.gatewayProcess({ ADMIN_TOKEN: token, LOG_LEVEL: 'info' })
  const foundBy = async (service: Service, id: string) => {
    const ask = caller(await adminOf(service))
    const headers = { authorization: `Bearer ${token}` }
    return json(
      await ask('GET', `/admin/requests/${id}`, undefined, headers),
    ) as unknown as FoundRefusals
  }
  return { ...at, refusals, gateway, foundBy }
}

async function refuse(service: Service, id: string, path: string): Promise<void> {
  const { status } = await caller(await service.url)('GET', path, undefined, { 'x-request-id': id })
  if (status !== 401) throw new Error(`${status}`)
  // So that the next one is later.
  const endMs = Date.now()
  await until(() => Date.now() > endMs + 1)
}

/** The texts of all stored answers. */
async function textsIn(refusals: RefusalStore): Promise<string> {
  const texts: string[] = []
  for (const index of await refusals.indexes(0)) {
    const answers = await refusals.answers(index)
    if (answers) texts.push(JSON.stringify(await unpacked(answers, () => true)))
  }
  return texts.join('\n')
}

const redis = await startRedis(t)
t.jobs = 3

for (const [name, store] of [
  ['a file', 'file: $DIR/gateway.db'],
  ['Redis', `redis: "${redis.url}"`],
] as const) {
  t.test(`a stop loses no refusal, and kill -9 none that is 4 s old: ${name}`, async (t) => {
    const { gateway, foundBy, refusals, run, runJson, folder } = await start(t, store)
    const secret = `tg_${'k'.repeat(12)}_${'s3cr3t'.repeat(7)}`
    const stopped = gateway()
    await refuse(stopped, 'again', '/v1/first')
    await refuse(stopped, 'stopped', `/v1/${secret}?key=${secret}&canary-of-a-query`)
    stopped.child.kill('SIGTERM')
    await stopped.ended
    const alone = await run('explain', 'stopped')
    t.match(alone.stdout, /^Only 0 of 1 gateways answered|^401 missing_api_key/, 'none runs')
    t.match(alone.stdout, /401 missing_api_key, .*: No API key was sent\./)

    const killed = gateway()
    const own = await foundBy(killed, 'stopped')
    t.match(own, { answers: [{ id: 'stopped', status: 401 }], gateways: { asked: 1, answered: 1 } })
    t.match(own.answers[0]?.path, /^\/v1\/tg_k{12}_…$/)
    t.match(own.stored, { gateways: 1, kept: 2 })
    await refuse(killed, 'again', '/v1/second')
    await refuse(killed, 'killed', '/v1/killed')
    const began = performance.now()
    await until(async () => (await textsIn(refusals)).includes('/v1/killed'))
    t.ok(performance.now() - began < 8_000, 'by itself')
    killed.child.kill('SIGKILL')
    await killed.ended

    const third = gateway()
    await refuse(third, 'again', '/v1/third')
    t.match(await foundBy(third, 'killed'), { answers: [{ path: '/v1/killed' }] })
    const { answers, gateways } = await foundBy(third, 'again')
    t.strictSame(
      answers.map(({ path }) => path),
      ['/v1/third', '/v1/second', '/v1/first'],
      'of one id all, the newest first',
    )
    t.equal(gateways.answered, 1)
    const { message } = (await foundBy(third, 'nobody')) as unknown as { message: string }
    t.match(
      message,
      /1 (?:gateway keeps|of 2 gateways answer, and keep) 1 refused or failed answers, /,
    )
    t.match(message, /; the store has 4 of the last day, of 2 that have stopped or don’t answer\. /)
    third.child.kill('SIGTERM')
    await third.ended
    t.match(await runJson('explain', 'again'), { answers: [{ path: '/v1/third' }, {}, {}] })
    t.match((await run('explain', 'nobody')).out, /no (?:refused or failed answer|gateway answers)/)

    const texts = await textsIn(refusals)
    t.match(texts, /stopped.*killed/s)
    for (const text of [texts, ...bytesIn(folder), ...(await valuesInRedis())]) {
      t.notMatch(text, /s3cr3t|canary-of-a-query/)
    }
  })
}

function bytesIn(folder: string): string[] {
  return readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1'))
}

async function valuesInRedis(): Promise<string[]> {
  const names = await redis.client.keys('*')
  const dumps = await Promise.all(names.map((name) => redis.client.dumpBuffer(name)))
  return dumps.map((dump) => dump.toString('latin1'))
}

t.test('a gateway explains the refusals of another one that was killed', async (t) => {
  const { gateway, foundBy, refusals } = await start(t, `redis: "${redis.url}", prefix: "two:"`)
  const [one, other] = [gateway(), gateway()]
  for (const [i, service] of [one, other, one, other].entries()) {
    await refuse(service, 'same', `/v1/${i}`)
  }
  await until(async () => (await gatewaysSeenBy(one)) === 2)
  const both = await foundBy(one, 'same')
  t.strictSame(both.stored, { gateways: 0, kept: 0 }, 'a gateway that answers isn’t read')
  const newestFirst = ['/v1/3', '/v1/2', '/v1/1', '/v1/0']
  t.strictSame(
    both.answers.map(({ path }) => path),
    newestFirst,
  )
  await until(async () => /v1.1.*v1.3/s.test(await textsIn(refusals)))
  other.child.kill('SIGKILL')
  await other.ended
  const left = await foundBy(one, 'same')
  t.equal(left.gateways.answered, 1)
  t.strictSame(left.stored, { gateways: 1, kept: 2 })
  t.strictSame(
    left.answers.map(({ path }) => path),
    newestFirst,
  )
})

t.test('the thread of the office reads the store; without it, memory alone answers', async (t) => {
  const store = `redis: "${redis.url}", prefix: "thread:"`
  const before = await startAdmin(t, { store })
  const refused = ({ gateway }: Pick<typeof before, 'gateway'>, id: string) =>
    gateway.call('GET', '/v1/pets', undefined, { 'x-request-id': id })
  await refused(before, 'before')
  await before.gateway.app.close()
  const { gateway, ask, stop } = await startAdmin(t, { store, thread: {} })
  await refused({ gateway }, 'now')
  t.match(json(await ask('GET', '/admin/requests/before')), {
    answers: [{ id: 'before', path: '/v1/pets', reason: 'no_header' }],
    gateways: { asked: 1, answered: 1 },
    stored: { gateways: 1, kept: 1 },
  })
  stop()
  t.match(json(await ask('GET', '/admin/requests/now')), { answers: [{}], stored: null })
  const { message } = json(await ask('GET', '/admin/requests/before'))
  t.match(message, 'the store, which has those of gateways that have stopped, gives no answer.')
})

t.test('what was refused while Redis was out comes to it when it is back', async (t) => {
  const own = await startRedis(t)
  const { gateway, ask } = await startAdmin(t, { store: `redis: "${own.url}"` })
  const { flushCounts } = gateway.app.front
  await own.kill()
  await gateway.call('GET', '/v1/pets', undefined, { 'x-request-id': 'meanwhile' })
  const answered = json(await ask('GET', '/admin/requests/meanwhile'))
  t.match(answered, { answers: [{ id: 'meanwhile' }], stored: null })
  await flushCounts()
  await own.restart()
  await until(async () => {
    await flushCounts()
    const texts = await textsIn(gateway.stores.refusals).catch(() => '')
    return texts.includes('meanwhile')
  })
  const later = json(await ask('GET', '/admin/requests/meanwhile'))
  t.match(later, { answers: [{ id: 'meanwhile' }] })
})
