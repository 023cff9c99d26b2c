import t from 'tap'
import { previewConfig } from '../../../gateway/office/config/preview.ts'
import { delayAfter, delaysMs } from '../../../gateway/office/notices/deliveries.ts'
import { noticesView } from '../../../gateway/office/notices/view.ts'
import { KeyDesk } from '../../../gateway/front/keys/key-desk.ts'
import { noterFor } from '../../../gateway/front/records/audit.ts'
import { configFor, startGateway } from '../../support/gateway.ts'
import { bound } from '../../support/promises.ts'
import { day, entry, movable, startReceiver } from '../../support/receiver.ts'
import { seeded } from '../../support/seeded.ts'
import { until } from '../../support/until.ts'

const hour = 3_600_000

t.test('Standard Webhooks, retries: a try comes up to a fifth later, at random', (t) => {
  const random = seeded(7)
  for (const [tries, leastMs] of delaysMs.entries()) {
    t.equal(delayAfter(tries, undefined, 0), leastMs)
    t.equal(delayAfter(tries, undefined, 1), 1.2 * leastMs)
    const drawn = Array.from(
      { length: 100 },
      () => delayAfter(tries, undefined, random(1_000) / 1_000) ?? 0,
    )
    t.ok(drawn.every((ms) => ms >= leastMs && ms <= 1.2 * leastMs))
    t.ok(new Set(drawn).size > 50, 'not two at the same time')
  }
  t.equal(delayAfter(delaysMs.length, hour, 0), undefined, 'a wish adds no try')
  t.equal(delayAfter(0, hour, 1), hour, 'a wish beyond the schedule is kept')
  t.equal(delayAfter(0, 9_999, 0), 10_000, 'one within it changes nothing')
  t.equal(delayAfter(4, 30 * day, 0), day, 'up to a day')
  t.equal(delayAfter(6, 0, 1), 1.2 * day)
  t.end()
})

t.test(
  'RFC 9110, 10.2.3: a receiver’s Retry-After is waited for, as seconds or a date',
  async (t) => {
    const { clock, move } = movable()
    const wishes = [
      () => '3600',
      () => new Date(clock() + 2 * hour).toUTCString(),
      () => '1',
      () => 'soon',
    ]
    const receiver = await startReceiver(
      t,
      () => 503,
      (nth) => ({ 'retry-after': wishes[nth - 1]?.() ?? '999999999999' }),
    )
    const more = `notices: [ ${entry(receiver.url)} ]`
    const { app, stores, config } = await startGateway(t, { more, clock })
    const { notices } = app.office
    await notices.tick()
    const noted = noterFor(stores.audit, 'alice', clock)
    const noting = new KeyDesk({ store: stores.keys, plans: config.plans, clock, noted })
    await noting.create({ name: 'Zoo', plan: 'free' })
    const newest = async () =>
      (
        await noticesView({
          ...{ notices: config.notices, store: stores.notices, isFailed: true, limit: 1 },
        })
      ).notices[0]
    /** The time from a try to the next one. */
    const waitAfter = async (tries: number): Promise<number> => {
      await notices.tick()
      await until(async () => (await newest())?.tries === tries)
      const { lastTriedAt, nextTryAt } = (await newest()) ?? {}
      return Date.parse(String(nextTryAt)) - Date.parse(String(lastTriedAt))
    }
    const within = (ms: number, leastMs: number, mostMs: number): void => {
      t.ok(ms >= leastMs && ms <= mostMs, `${ms} ms is from ${leastMs} to ${mostMs}`)
    }
    within(await waitAfter(1), hour, hour)
    move(hour - 2_000)
    await notices.tick()
    t.equal(receiver.got.length, 1, 'not before its time')
    move(2_000)
    // The date has whole seconds, and is told a little after the try.
    within(await waitAfter(2), 2 * hour - 2_000, 2 * hour + bound(200))
    move(2 * hour)
    within(await waitAfter(3), 300_000, 360_000)
    move(360_000)
    within(await waitAfter(4), 1_800_000, 2_160_000)
    move(2_160_000)
    within(await waitAfter(5), day, day)
  },
)

t.test('Standard Webhooks, secrets: under 24 bytes is a warning, over 64 a mistake', (t) => {
  const base64 = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`
  const told = (secret: string): string => {
    const more = `notices: [ { to: "https://hooks.example/", secret: "${secret}" } ]`
    const text = configFor('http://127.0.0.1:1', 'file: x.db', { more })
    try {
      const [warning = ''] = previewConfig(text, {}, 'x').warnings
      return warning.replace(/^x:\d+:\d+: /, '')
    } catch (error) {
      return String(error instanceof Error && error.message).replace(/^x:\d+:\d+: /, '')
    }
  }
  const short = /^warning: notices\[0\]\.secret has fewer than 24 bytes, /
  const wrong = /^notices\[0\]\.secret must be one or two keys .* of 16 to 64 bytes/
  for (const [secret, expected] of [
    ['x'.repeat(15), wrong],
    [base64(15), wrong],
    ['x'.repeat(16), short],
    ['x'.repeat(23), short],
    [base64(23), short],
    [`${'x'.repeat(30)},${'x'.repeat(20)}`, short],
    ['x'.repeat(24), /^$/],
    ['ä'.repeat(12), /^$/],
    [base64(24), /^$/],
    ['x'.repeat(64), /^$/],
    [base64(64), /^$/],
    ['x'.repeat(65), wrong],
    ['ä'.repeat(33), wrong],
    [base64(65), wrong],
  ] as const) {
    t.match(told(secret), expected, secret)
    t.notMatch(told(secret), secret, 'and is never shown')
  }
  t.end()
})
