import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { usage } from '../../gateway/front/counts/usage.ts'
import { KeyDesk } from '../../gateway/front/keys/key-desk.ts'
import { usedIn } from '../../gateway/front/limits/counters.ts'
import { stateOfHash } from '../../gateway/front/stores/redis/quota-hash.ts'
import { openStores } from '../../gateway/front/stores/open.ts'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { dayWindow, numberAt, windowNames, windowOf } from '../../shared/windows.ts'
import { formerProgram } from '../support/former.ts'
import { configFor, startUpstream } from '../support/gateway.ts'
import { caller, type Call } from '../support/http.ts'
import { adminOf, startProcess, type Service } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { folderOf } from '../support/folder.ts'

const program = formerProgram('gateway/main.ts')
const present = 'gateway/main.ts'

/** Callers without a rest, over all gateways that a load balancer would send them to. */
class Callers {
  readonly #headers: Record<string, string>
  readonly #count: number
  readonly statuses: number[] = []
  gateways: readonly Call[] = []

  constructor(authorization: string, count: number) {
    this.#headers = { authorization }
    this.#count = count
  }

  /** Sends requests until this many were admitted in all; each gateway in turn. */
  async upTo(admitted: number): Promise<void> {
    const one = async (turn: number): Promise<void> => {
      for (let i = turn; this.admitted < admitted && this.refused === 0; i++) {
        const call = this.gateways[i % this.gateways.length]
        if (call) this.statuses.push((await call('GET', '/v1/x', undefined, this.#headers)).status)
      }
    }
    await Promise.all(Array.from({ length: this.#count }, (_, turn) => one(turn)))
  }

  get admitted(): number {
    return this.statuses.filter((status) => status === 200).length
  }

  get refused(): number {
    return this.statuses.filter((status) => status !== 200).length
  }
}

async function upgrade(t: Test, former: string): Promise<void> {
  const [{ url, client }, upstream] = await Promise.all([startRedis(t), startUpstream(t)])
  const file = join(folderOf(t), 'gateway.yaml')
  const most = 1_500
  const yaml = configFor(upstream.url, `redis: "${url}"`, {
    more: `plans: { free: { perMinute: 100000, perDay: ${most} } }`,
  })
  writeFileSync(file, yaml)
  const start = (program: string): Service =>
    startProcess(t, program, { env: { TOLLGATE_CONFIG: file, LOG_LEVEL: 'info' } })
  const { store, plans } = parseConfig(yaml, {}, 'upgrade.yaml')
  const [old1, old2] = [start(former), start(former)]
  const [first, second] = [caller(await old1.url), caller(await old2.url)]
  t.equal(await client.hget('tollgate:{keys}:store', 'format'), '1')
  const stores = await openStores(store, { forCommandLine: true })
  t.teardown(() => stores.close())
  const desk = new KeyDesk({ store: stores.keys, plans, clock: Date.now })
  const { key, token } = await desk.create({ name: 'x', plan: 'free' })
  const callers = new Callers(`Bearer ${token}`, 8)
  const beganOn = numberAt(dayWindow, Date.now())

  callers.gateways = [first, second]
  await callers.upTo(200)
  const new1 = start(present)
  const third = caller(await new1.url)
  callers.gateways = [first, second, third]
  await callers.upTo(500)
  const admin = caller(await adminOf(new1))
  t.match((await admin('GET', '/readyz')).text, /former version use this Redis/)
  await t.rejects(
    stores.quota.grant(`key:${key.id}`, { perDay: 1, by: 'x', note: undefined }),
    /until they have left, points can't be granted/,
  )
  callers.gateways = [second, third]
  old1.child.kill('SIGTERM')
  const fourth = caller(await start(present).url)
  callers.gateways = [second, third, fourth]
  await callers.upTo(900)
  t.equal((await old1.ended).code, 0)
  callers.gateways = [third, fourth]
  old2.child.kill('SIGTERM')
  await callers.upTo(1_000)
  t.equal((await old2.ended).code, 0)
  await until(async () => (await client.hget('tollgate:{keys}:store', 'format')) === '2')
  await callers.upTo(1_200)
  await until(async () => !(await admin('GET', '/readyz')).text.includes('former version'))
  await callers.upTo(Infinity)

  t.equal(numberAt(dayWindow, Date.now()), beganOn, 'all of it on one day')
  t.equal(callers.admitted, most)
  t.same(new Set(callers.statuses), new Set([200, 429]))
  const fields = await client.hgetall(`tollgate:quota:key:${key.id}`)
  t.notOk('w' in fields, 'only the present counters are left')
  const state = stateOfHash(fields)
  for (const name of windowNames.filter((name) => name === 'day' || name === 'month')) {
    t.equal(state && usedIn(state, windowOf(name)), most, name)
  }
  const counted = async () => {
    const [line] = await usage(stores, { fromDay: beganOn, toDay: beganOn })
    return line
  }
  await until(async () => (await counted())?.admitted === most)
  for (const service of [old1, old2, new1]) t.notMatch(service.output(), /"level":(50|"error")/)
}

t.test(
  'gateways of the former version and this one share a Redis until the former ones have left',
  program === undefined ? { skip: 'the history of this checkout is cut off' } : {},
  (t) => upgrade(t, program ?? ''),
)
