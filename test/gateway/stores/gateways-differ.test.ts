import { join } from 'node:path'
import t from 'tap'
import { inForceText, toldApart } from '../../../gateway/front/fleet/in-force.ts'
import { fleetView } from '../../../gateway/office/fleet/view.ts'
import { differenceReporter } from '../../../gateway/office/fleet/differences.ts'
import { fleetOfOne } from '../../../gateway/front/fleet/single-member.ts'
import { OwnMember } from '../../../gateway/front/fleet/own-member.ts'
import type { FleetNews, SeenMember } from '../../../gateway/front/fleet/store.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { auditOn } from '../../../gateway/front/records/audit-list.ts'
import { embeddedLists } from '../../../gateway/front/stores/embedded/lists.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import type { SharedFleet } from '../../../gateway/front/fleet/shared-fleet.ts'
import { redisDocuments } from '../../../gateway/front/stores/redis/documents.ts'
import { storeAt } from '../../support/filled-store.ts'
import { fleetViews } from '../../support/redis-stores.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

const { url, client } = await startRedis(t)

t.test(
  'gateways that differ for two minutes are news, once, and so is their agreement',
  async (t) => {
    const { fleets, setTime } = await fleetViews(t, { url }, 3)
    const startMs = 1_900_000_000_000
    let now = startMs
    const testClock = () => now
    setTime(now)
    const heard: [name: string, news: FleetNews][] = []
    const hashes = ['old', 'old', 'old']
    // Only this test beats: on a busy machine the beats of a second would come between.
    const timers = t.intercept(globalThis, 'setInterval', { value: () => setTimeout(() => {}, 0) })
    const selves = fleets.map((fleet, i) => {
      const self = new OwnMember({ name: `edge-${i}`, clock: () => startMs - 3_600_000 })
      const loadedAtMs = startMs - 3_600_000
      self.fileState = () => {
        const sharedHash = hashes[i] ?? ''
        return { hash: `of file ${i}`, sharedHash, loadedAtMs, mistakes: undefined }
      }
      fleet.join(
        () => self.memberOf('redis'),
        (news) => heard.push([self.name, news]),
      )
      return self
    })
    timers.restore()
    const [first] = fleets
    if (!first) throw new Error('three were asked for')
    const pass = async (seconds: number, except?: SharedFleet): Promise<void> => {
      for (let s = 0; s < seconds; s += 4) {
        setTime((now += 4_000))
        for (const fleet of fleets) if (fleet !== except) await fleet.beat()
      }
    }
    await pass(8)
    t.equal(first.size, 3)
    t.equal(first.configs, 1)
    t.equal((await first.list()).differSinceMs, undefined)
    const { members } = await first.list()
    t.strictSame(
      members.map(({ sinceMs }) => sinceMs),
      [startMs, startMs, startMs],
      'times are by Redis’ clock, whatever those of the gateways are',
    )

    for (const i of hashes.keys()) {
      hashes[i] = 'new'
      await pass(28)
    }
    t.strictSame(heard, [], 'a rolling change of a minute makes no news')
    t.equal((await first.list()).differSinceMs, undefined)

    hashes[2] = 'other'
    await pass(120)
    t.strictSame(heard, [], 'not yet')
    t.equal(first.configs, 2)
    await pass(8)
    t.equal(heard.length, 1, 'one gateway hears it')
    t.match(heard, [[/^edge-/, 'differ']])
    await pass(40)
    t.equal(heard.length, 1, 'once')
    hashes[2] = 'new'
    await pass(8)
    t.match(
      heard,
      [
        ['', 'differ'],
        [/^edge-/, 'agree'],
      ].map(([, news]) => [/./, news]),
    )
    t.equal(heard.length, 2)
    await pass(8)
    t.equal(heard.length, 2)

    // The third is killed: it beats no more.
    const third = fleets[2]
    await pass(4, third)
    t.equal((await first.list()).members.length, 3, 'after 4 s of silence it may still come')
    await pass(4, third)
    const left = await first.list()
    t.strictSame(left.members.map(({ name }) => name).sort(), ['edge-0', 'edge-1'])
    t.equal(left.silent, 0)

    // Another version may write a line that this one can't read.
    const lines = redisDocuments({
      connection: client,
      prefix: 'fleet:',
      timeoutMs: 2_000,
      testClock,
    })
    const tell = (line: string) => lines.put('fleet', 'later', line, { keptMs: 60_000 })
    await tell('{"v":2}')
    t.equal((await first.list()).silent, 1)
    await first.beat()
    t.equal(first.size, 3)
    const [member] = left.members
    const wrong = [{ pid: 'text' }, { sinceMs: 8.64e15 + 1 }, { config: null }, { address: 1 }]
    for (const members of [{}, ...wrong, { config: { hash: 'a', sharedHash: 'b' } }]) {
      const line = JSON.stringify({ ...member, id: 'later', ...members })
      await tell(line)
      const isReadable = Object.keys(members).length === 0
      t.equal((await first.list()).silent, isReadable ? 0 : 1, line)
    }
    t.equal(selves.length, 3)

    const names = await client.keys('fleet:*')
    for (const name of names) t.ok((await client.pttl(name)) > 0, `${name} is forgotten one day`)
  },
)

t.test(
  'a difference is a warning in the log and a line in the audit, and so is its end',
  async (t) => {
    const database = openGatewayFile(join(folderOf(t), 'gateway.db'))
    t.teardown(() => database.close())
    const audit = auditOn(embeddedLists(database, Date.now))
    const fleet = fleetOfOne()
    const hashes = ['529981b2c0aa', '1c0f77d2e4ab']
    for (const [i, name] of ['edge-1', 'edge-2'].entries()) {
      const self = new OwnMember({ name })
      self.fileState = () => {
        const hash = hashes[i] ?? ''
        return { hash, sharedHash: hash, loadedAtMs: Date.now(), mistakes: undefined }
      }
      fleet.join(
        () => self.memberOf('a store'),
        () => undefined,
      )
    }
    const lines: [level: string, about: object, message: string][] = []
    const at = (level: string) => (about: object, message: string) =>
      void lines.push([level, about, message])
    const log = { info: at('info'), warn: at('warn'), error: at('error') }
    const tell = differenceReporter({ fleet, audit, log, clock: Date.now })
    tell('differ')
    await until(async () => (await audit.list({ fromMs: 0, limit: 9 })).length === 1)
    hashes[1] = '529981b2c0aa'
    tell('agree')
    await until(async () => (await audit.list({ fromMs: 0, limit: 9 })).length === 2)
    t.match(lines, [
      ['warn', { notice: 'gateways.differ' }, /^2 gateways run different configurations since /],
      ['info', { notice: 'gateways.agree', inForce: [{ gateways: ['edge-1', 'edge-2'] }] }],
    ])
    const found = await audit.list({ fromMs: 0, limit: 9 })
    t.match(found, [
      { what: 'gateways.agree', by: 'gateway', after: { inForce: [{}] } },
      { what: 'gateways.differ', after: { inForce: [{ gateways: [/^edge-/] }, {}] } },
    ])
    const unreachable = { list: () => Promise.reject(new Error('out of reach')) }
    differenceReporter({ fleet: unreachable, audit, log, clock: Date.now })('differ')
    await until(() => lines.length === 3)
    t.match(lines[2], ['error', { err: { message: 'out of reach' } }, /is missing in the audit/])
  },
)

t.test('one sentence says which configurations are in force', (t) => {
  const nowMs = 1_900_000_000_000
  const minutes = (count: number): number => nowMs - count * 60_000
  const member = (
    name: string,
    hash: string,
    since: number,
    refusal?: string,
    sharedHash = hash,
  ): SeenMember => ({
    ...{ id: `${name}-id-of-a-process`, name, host: 'web', pid: 7, version: '1', store: 'r' },
    ...{
      sinceMs: minutes(500),
      seenAtMs: nowMs,
      config: { hash, sharedHash, sinceMs: minutes(since), refusal },
    },
  })
  const text = (...members: SeenMember[]): string => {
    return inForceText(toldApart({ nowMs, members, silent: 0 }))
  }
  const refusal = 'c.yaml:14:22: plans.free.perMinute must be a whole number'
  const [a, b] = ['529981b2c0aa', '1c0f77d2e4ab']
  t.equal(text(), 'No gateway reports its configuration.')
  t.equal(text(member('x', a, 1)), 'The gateway runs 5299…')
  const summary = (...members: SeenMember[]) => fleetView({ nowMs: 0, members, silent: 0 }).summary
  t.equal(summary(), 'No gateway reports its configuration.')
  t.equal(summary(member('x', a, 1)), 'The gateway runs 5299…', 'a sentence has one end')
  t.match(summary(member('x', a, 1), member('x', b, 1, refusal)), /\)\.$/)
  t.equal(text(member('x', a, 1), member('y', a, 9)), 'All 2 gateways run 5299…')
  t.equal(
    text(member('g-1', a, 12), member('g-2', a, 11), member('g-3', b, 300, refusal)),
    '3 gateways run different configurations since 2030-03-17 17:34:40Z: g-1 and g-2 5299…, g-3 1c0f… (refuses its file: line 14)',
  )
  t.equal(
    text(member('g-1', a, 12, refusal), member('g-2', b, 0.5)),
    '2 gateways run different configurations since 2030-03-17 17:46:10Z: g-2 1c0f…, g-1 5299… (refuses its file: line 14)',
    'of equally many the newer one comes first',
  )
  t.equal(
    text(member('g', a, 12, refusal), member('h', a, 3, 'the file is gone')),
    'All 2 gateways run 5299…; g and h refuse their files',
  )
  t.equal(
    text(member('g', a, 12), member('h', a, 3, 'the file is gone')),
    'All 2 gateways run 5299…; h refuses its file: the file is gone',
  )
  const shared = member('y', 'b77777777777', 9, undefined, a)
  t.equal(
    text(shared, member('x', a, 1)),
    'All 2 gateways run 5299… (files differ in name, listen, admin or layout)',
    'the hash is that of the first gateway’s file',
  )
  t.match(
    text(member('x', a, 1), member('z', b, 2), shared),
    /: x and y 5299… \(files differ in name, listen, admin or layout\), z 1c0f…$/,
  )
  const odd = member('y', a, 9, undefined, 'odd')
  t.match(text(member('x', a, 1), odd), /: x 5299…, y 5299…$/, 'whatever another version tells')
  const alike = { ...member('g', '5299999', 1), id: 'another', pid: 8 }
  t.equal(
    text(member('g', a, 5), member('h', a, 5), alike),
    '3 gateways run different configurations since 2030-03-17 17:45:40Z: g (web:7) and h 52998…, g (web:8) 52999…',
    'hashes and names that begin alike are told apart',
  )
  t.end()
})

t.test('redis, a gateway that stops is gone from the fleet at once', async (t) => {
  const settings = storeAt({ url })
  const [one, other] = [await openStores(settings), await openStores(settings)]
  t.teardown(() => other.close())
  for (const { fleet, ready } of [one, other]) {
    await ready()
    const self = new OwnMember()
    fleet.join(
      () => self.memberOf('redis'),
      () => undefined,
    )
  }
  await until(() => other.fleet.size === 2)
  await one.close()
  t.equal((await other.fleet.list()).members.length, 1)
  await t.rejects(Promise.resolve(one.keys.get('x')), 'and its connection is closed')
})
