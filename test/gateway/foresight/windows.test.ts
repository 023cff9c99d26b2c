import t from 'tap'
import type { ShadowReport } from '../../../gateway/office/foresight/shadows.ts'
import { reportText } from '../../../gateway/office/operations/shadow/report.ts'
import { startAdmin } from '../../support/admin.ts'
import { json } from '../../support/http.ts'
import { until } from '../../support/until.ts'

t.test('shadows, previews and the demand of a plan tell each window that it limits', async (t) => {
  const shadow = 'shadow: { perSecond: 1, perMinute: 2, perHour: 3, perMonth: 4 }'
  const now = Date.UTC(2026, 10, 20, 9, 30)
  const { gateway, ask } = await startAdmin(t, {
    more: `plans: { free: { perMinute: 60, perDay: 1000, perHour: 500, ${shadow} } }`,
    clock: () => now,
  })
  const one = await gateway.key({ name: 'One' })
  for (let i = 0; i < 5; i++) await gateway.call('GET', '/v1/pets', undefined, one.headers)
  await until(async () => (await ask('GET', '/admin/usage')).text.includes('"admitted":5'))

  const report = json((await ask('GET', '/admin/shadow?days=1')).text)
  t.match(report, {
    shadows: [
      {
        now: { perMinute: 60, perHour: 500, perDay: 1000 },
        shadow: { perSecond: 1, perMinute: 2, perHour: 3, perDay: 1000, perMonth: 4 },
      },
    ],
    keys: [{ refused: { second: 4, minute: 3, hour: 2, day: 0, month: 1 }, of: 5 }],
  })
  t.notOk('perMonth' in (report['shadows'] as [{ now: object }])[0].now)
  const people = reportText(report as ShadowReport)
  t.match(people, 'shadow of 1 a second, 2 a minute, 3 an hour, 1,000 a day, 4 a month')
  t.match(people, /BY SECOND +BY MINUTE +BY HOUR +BY DAY +BY MONTH +OF/)
  t.match(people, / 4 +3 +2 +0 +1 +5 /)
  const csv = await ask('GET', '/admin/shadow?days=1', undefined, { accept: 'text/csv' })
  t.match(csv.text, /second"?,"?minute"?,"?hour"?,"?day"?,"?month"?,"?of/)

  const preview = async (limits: object) =>
    json((await ask('POST', '/admin/plans/free/preview', { ...limits, days: 1 })).text)
  const told = await preview({ perMonth: 4 })
  t.match(told, {
    ...{ bound: 'exact', hitQuotas: 1, hitNow: 1, now: { perHour: 500 }, then: { perMonth: 4 } },
    hit: [{ peakMinute: 5, peakHour: 5, peakDay: 5, peakMonth: 5, refusedNow: true }],
  })
  t.notOk('peakSecond' in (told['hit'] as [object])[0])
  t.match(await preview({ perSecond: 4 }), {
    bound: 'exact',
    hitQuotas: 1,
    hit: [{ peakSecond: 5 }],
  })
  t.match(await preview({ perSecond: 5, perHour: 5 }), { bound: 'exact', hitQuotas: 0 })
  t.match(await preview({}), { code: 'invalid_request' })
  const demand = json((await ask('GET', '/admin/plans/free/demand?days=1')).text)
  t.match(demand, {
    now: { perHour: 500 },
    byDay: [{ minute: { highest: 5 }, hour: { highest: 5 }, day: { highest: 5 } }],
    curves: { quotas: { hour: [[5, 1]] }, days: { hour: [[5, 1]] } },
  })
  t.notOk('month' in (demand['byDay'] as [object])[0])
})
