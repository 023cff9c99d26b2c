import t from 'tap'
import { clockTime, nearness, utc } from '../../gateway/front/http/page/utc.ts'
import { endIso, endText, timeText, waitText } from '../../shared/times.ts'

const now = Date.UTC(2026, 10, 25, 18, 12, 39, 400)
const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]

t.test('operators read a time to the second, and nothing for none', (t) => {
  t.equal(timeText(now), '2026-11-25 18:12:39Z')
  t.equal(timeText(undefined, 'never'), 'never')
  t.end()
})

t.test('operators read an end rounded up to a second, and how near it is', (t) => {
  const ends: readonly (readonly [afterMs: number, text: string])[] = [
    [1, '2026-11-25 18:12:40Z (in 1 s)'],
    [59 * second, '2026-11-25 18:13:39Z (in 59 s)'],
    [minute, '2026-11-25 18:13:40Z (in 1 min)'],
    [4 * minute, '2026-11-25 18:16:40Z (in 4 min)'],
    [hour, '2026-11-25 19:12:40Z (in 1 h)'],
    [5 * hour + 18 * minute, '2026-11-25 23:30:40Z (in 5 h 18 min)'],
    [day - 1, '2026-11-26 18:12:40Z (in 1 d)'],
    [day, '2026-11-26 18:12:40Z'],
    [0, '2026-11-25 18:12:40Z'],
    [-minute, '2026-11-25 18:11:40Z'],
  ]
  for (const [afterMs, text] of ends) t.equal(endText(now + afterMs, now), text)
  t.end()
})

t.test('callers read an end with the seconds to wait, of another day with its date', (t) => {
  t.equal(waitText(now + 296_000, now), '18:17:36 UTC (297 s)')
  t.equal(waitText(now, now), '18:12:40 UTC (1 s)')
  t.equal(waitText(now + 10 * minute - 400, now), '18:22:39 UTC (600 s)')
  t.equal(waitText(now + 10 * minute, now), '18:22:40 UTC (10 min)')
  t.equal(waitText(Date.UTC(2026, 10, 26), now), '2026-11-26 00:00:00 UTC (5 h 47 min)')
  t.equal(waitText(Date.UTC(2026, 10, 28), now), '2026-11-28 00:00:00 UTC (2 d 5 h)')
  t.end()
})

t.test('programs read the same second', (t) => {
  t.equal(endIso(now), '2026-11-25T18:12:40.000Z')
  t.end()
})

t.test('pages show times and how near an end is as commands do', (t) => {
  t.equal(utc(new Date(now).toISOString()), timeText(now))
  for (let afterMs = 3 * second; afterMs < 2 * day; afterMs += Math.ceil(afterMs / 70)) {
    const near = nearness(new Date(now + afterMs).toISOString(), now)
    const [, expected = ''] = /\((.*)\)/.exec(endText(now + afterMs, now)) ?? []
    t.equal(near, expected, `${afterMs} ms`)
  }
  t.end()
})

t.test('on pages, a time is said as people say it', (t) => {
  const said: readonly (readonly [afterMs: number, clock: string, near: string])[] = [
    [-28 * minute, '17:44', '28 min ago'],
    [-day + 1, '24 Nov, 18:12', '1 d ago'],
    [-day, '24 Nov, 18:12', ''],
    [6 * hour, '26 Nov, 00:12', 'in 6 h'],
    [40 * day, '4 Jan 2027, 18:12', ''],
  ]
  for (const [afterMs, clock, near] of said) {
    const iso = new Date(now + afterMs).toISOString()
    t.equal(clockTime(iso, now), clock)
    t.equal(nearness(iso, now), near)
  }
  t.end()
})

t.test(
  'on pages, what has just happened doesn’t seem to come where clocks differ a little',
  (t) => {
    for (const afterMs of [2 * second, 0, -1, -day])
      t.match(nearness(new Date(now + afterMs).toISOString(), now), /^(?:\d s ago|)$/)
    t.end()
  },
)
