import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { askHere, ConfigDesk } from '../../../gateway/office/config/desk.ts'
import { parseConfig } from '../../../gateway/office/config/load.ts'
import {
  mostQuestions,
  type OfficeThreadOptions,
} from '../../../gateway/office/thread/office-thread.ts'
import { errorFrom, sentError } from '../../../gateway/office/thread/sent-error.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { StoreDamaged, StoreUnavailable } from '../../../shared/store-errors.ts'
import { KeyMistake } from '../../../gateway/front/keys/mistake.ts'
import { NotWrittenDown } from '../../../gateway/front/records/audit.ts'
import { ConfigError } from '../../../gateway/office/config/config-error.ts'
import { WrongInput } from '../../../gateway/office/operations/operation.ts'
import { startAdmin, type AdminOptions } from '../../support/admin.ts'
import { newGate } from '../../support/gate.ts'
import { json, type Answer } from '../../support/http.ts'
import { token } from '../../support/operator.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

/** A caller's requests, so that there is something to report. */
async function send(call: (path: string) => Promise<unknown>): Promise<void> {
  for (const path of ['/v1/pets', '/v1/old', '/v1/pets', '/v1/pets']) await call(path)
}

type GatedOptions = Omit<AdminOptions, 'thread'> &
  Readonly<{ thread?: Partial<OfficeThreadOptions> }>

/** A gateway whose thread a gate holds up, with a key that was used. */
async function startGated(t: Test, { thread, ...options }: GatedOptions = {}) {
  const gate = newGate()
  const at = await startAdmin(t, { ...options, thread: { file: gate.file, ...thread } })
  const { headers } = await at.gateway.key({ name: 'Acme' })
  const call = (path = '/v1/pets') => at.gateway.call('GET', path, undefined, headers)
  await send(call)
  const preview = () => at.ask('POST', '/admin/plans/free/preview', { perDay: 2 })
  return { ...at, gate, call, preview }
}

t.test('requests are answered while a report stands still', async (t) => {
  const { gate, call, preview, ask, url } = await startGated(t)
  gate.let('wait')
  const held = preview()
  await gate.hasArrived()
  t.equal((await call()).status, 200)
  t.equal((await ask('GET', '/admin/quota/Acme')).status, 200, 'of operators as well')
  const others = Array.from({ length: mostQuestions }, () => preview())
  const refused = await Promise.race([held, ...others])
  t.equal(refused.status, 503, 'one of them is too many')
  t.equal(refused.headers['retry-after'], '5')
  t.match(refused.text, `${mostQuestions} others ask for reports already. Try again later.`)
  gate.open()
  const all = [await held, ...(await Promise.all(others))]
  t.equal(all.filter(({ text }) => text.includes('"hitQuotas":1')).length, mostQuestions)

  gate.let('wait')
  const dispatcher = new Agent()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const asked = { method: 'POST', headers, body: '{"perDay":2}', dispatcher } as const
  const left = Array.from({ length: mostQuestions + 1 }, () =>
    request(`${url}/admin/plans/free/preview`, asked),
  )
  t.equal((await Promise.race(left)).statusCode, 503, 'the others have come')
  await dispatcher.destroy()
  t.equal((await Promise.allSettled(left)).filter(({ status }) => status === 'rejected').length, 8)
  gate.open()
  await until(async () => (await preview()).status === 200)
  t.equal(gate.threads, 1, 'one thread has done all of it')
})

t.test('a thread that dies is told of, and the next question starts another', async (t) => {
  const { gate, preview, call } = await startGated(t, { thread: { heapMb: 128 } })
  gate.let('fail')
  const failed = await preview()
  t.equal(failed.status, 503)
  t.match(
    failed.text,
    'The thread of reports and configurations has ended before this was done. Ask for it again.',
  )
  gate.let('fill')
  const full = await preview()
  t.equal(full.status, 503)
  t.match(full.text, 'This needs more than 128 MB of memory. Ask for fewer days')
  t.equal((await call()).status, 200)
  gate.open()
  t.match((await preview()).text, '"hitQuotas":1')
  t.equal(gate.threads, 3)
})

t.test('a report that takes too long ends with its thread, and the next one begins', async (t) => {
  const { gate, preview } = await startGated(t, { thread: { limitMs: 5_000 } })
  gate.let('wait')
  const { status, text } = await preview()
  t.equal(status, 503)
  t.match(text, 'This report takes more than 5 seconds. Ask for fewer days, for one plan')
  gate.open()
  await until(async () => (await preview()).status === 200)
  t.ok(gate.threads > 1)
})

t.test('a thread that hangs is replaced, and a reload waits for the next one', async (t) => {
  const { gate, preview, ask, write, metrics } = await startGated(t, {
    thread: { silenceMs: 4_000 },
  })
  t.match(await metrics(), /^tollgate_office_restarts_total 0$/m)
  gate.let('wait')
  const held = preview()
  await gate.hasArrived()
  write((text) => text.replace('perMinute: 60', 'perMinute: 50'))
  const reloaded = await ask('POST', '/admin/config/reload')
  t.match(json(reloaded), { result: 'changed', config: { plans: { free: { perMinute: 50 } } } })
  t.equal((await held).status, 503)
  gate.open()
  t.match((await preview()).text, '"now":{"perMinute":50')
  t.match(await metrics(), /^tollgate_office_restarts_total 1$/m)
  t.equal(gate.threads, 2)
})

t.test('a desk knows a candidate of another one by its text', async (t) => {
  const file = join(folderOf(t), 'gateway.yaml')
  const before = 'plans: { free: { perMinute: 60, perDay: 1000 } }\nroutes: []\n'
  const after = before.replace('60', '50')
  writeFileSync(file, after)
  const environment = {}
  const inForce = { text: before, config: parseConfig(before, environment, file) }
  const [one, other] = [0, 1].map(() => {
    return askHere(new ConfigDesk({ file, environment, ...inForce }))
  })
  if (!one || !other) throw new Error('there are two desks')
  const { text } = await one('read')
  t.strictSame(await other('faultLines', text, [[['plans', 'free'], 'is wrong']]), [
    `${file}:1:16: plans.free is wrong`,
  ])
  await other('adopt', text)
  t.match(await other('view'), { config: { plans: { free: { perMinute: 50 } } } })
  t.equal((await other('read')).change, undefined)
})

t.test('files that the configuration in force names may be gone', async (t) => {
  const file = join(folderOf(t), 'gateway.yaml')
  const text = 'plans: { free: { perMinute: 60, perDay: 1000 } }\nroutes: []\n'
  writeFileSync(file, text)
  const named = `${text}portal: { path: /docs, openapi: ${join(t.testdirName, 'gone.yaml')} }\n`
  const config = parseConfig(text, {}, file)
  const desk = askHere(new ConfigDesk({ file, environment: {}, text: named, config }))
  t.match(await desk('view'), { config: { portal: { path: '/docs' } } })
  t.match(await desk('read'), { text, change: { before: { portal: { path: '/docs' } } } })
})

t.test('a stop ends a report', async (t) => {
  const { gate, preview, stop, ask } = await startGated(t)
  gate.let('wait')
  const [held, waiting] = [preview(), preview()]
  await gate.hasArrived()
  stop()
  for (const { status, text, headers } of [await held, await waiting, await preview()]) {
    t.equal(status, 503)
    t.match(text, 'The gateway stops. Try again later.')
    t.equal(headers['retry-after'], '5')
  }
  t.equal((await ask('GET', '/admin/quota/Acme')).status, 200, 'other answers still come')
})

t.test('mistakes and outages are told as they are without a thread', async (t) => {
  const redis = await startRedis(t)
  const store = `redis: '${redis.url}'`
  const [apart, here] = [
    await startAdmin(t, { store, thread: {} }),
    await startAdmin(t, { store: `${store}, prefix: "here:"` }),
  ]
  const same = async (...asked: Parameters<typeof apart.ask>): Promise<Answer> => {
    const [one, other] = [await apart.ask(...asked), await here.ask(...asked)]
    t.equal(one.text, other.text)
    t.equal(one.status, other.status)
    return one
  }
  t.equal((await same('POST', '/admin/plans/free/preview', {})).status, 400)
  t.equal((await same('POST', '/admin/plans/enterprise/preview', { perDay: 1 })).status, 400)
  t.equal((await same('GET', '/admin/plans/gone/demand')).status, 404)
  t.equal((await same('GET', '/admin/shadow?days=0')).status, 400)
  const yaml = { 'content-type': 'application/yaml' }
  t.match((await same('POST', '/admin/config/check', 'plans: 1', yaml)).text, 'must be')
  await redis.kill()
  const out = await same('GET', '/admin/plans/free/demand')
  t.equal(out.status, 503)
  t.equal(out.headers['retry-after'], '5')
  await redis.restart()
  await until(async () => (await apart.ask('GET', '/admin/plans/free/demand')).status === 200)
})

t.test('a store in memory is read where it is', async (t) => {
  const { ask, gateway } = await startAdmin(t, { store: 'file: ":memory:"', thread: {} })
  await gateway.key({ name: 'Acme' })
  t.match((await ask('GET', '/admin/keys')).text, '"Acme"')
  t.match(json(await ask('POST', '/admin/config/reload')), { result: 'unchanged' })
})

t.test('errors keep their class', (t) => {
  const refusal = errorFrom(sentError(new Refusal('conflict', 'no', { 'retry-after': '1' })))
  t.match(refusal, { code: 'conflict', status: 409, headers: { 'retry-after': '1' } })
  t.match(errorFrom(sentError('a text')), { message: 'a text' })
  const kinds = [WrongInput, StoreUnavailable, StoreDamaged, ConfigError, KeyMistake]
  for (const Kind of kinds) {
    const error = errorFrom(sentError(new Kind('why')))
    t.ok(error instanceof Kind && error.message === 'why', Kind.name)
  }
  const unwritten = new NotWrittenDown('keys.import', new Error('the disk is full'))
  const sent = errorFrom(sentError(unwritten))
  t.match(sent, { what: 'keys.import', message: unwritten.message })
  t.ok(sent instanceof NotWrittenDown)
  t.end()
})
