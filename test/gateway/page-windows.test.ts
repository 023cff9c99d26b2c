import t from 'tap'
import { partsOf, refusedOf } from '../../gateway/office/admin/console/charts/outcomes.ts'
import { limitsText, limitText, windows as shown } from '../../gateway/front/http/page/windows.ts'
import { sumsView, type SumsView } from '../../gateway/front/counts/sum-rows.ts'
import { windows } from '../../shared/windows.ts'

t.test('pages know the windows that the gateway counts, in its order and its words', async (t) => {
  t.strictSame(
    shown.map(({ name, limit, each, isRequired = false }) => ({ name, limit, each, isRequired })),
    windows.map(({ name, limit, each, isRequired }) => ({ name, limit, each, isRequired })),
  )
})

t.test('a chart has a part for each window that has refused, beside minute and day', async (t) => {
  const none = sumsView([])
  const labels = (rows: readonly SumsView[]) => partsOf(rows).map(({ label }) => label)
  t.strictSame(labels([none]).slice(0, 4), [
    'answered',
    'refused by the minute',
    'by the day',
    'by a ban',
  ])
  for (const { name } of windows) {
    const sums: SumsView = { ...none, ban: 1, [name]: 3 }
    const part = partsOf([none, sums]).find((each) => each.name === name)
    t.equal(part?.countOf(sums), 3, name)
    t.equal(refusedOf(sums), 4, name)
  }
  const all = { ...none, ...Object.fromEntries(windows.map(({ name }) => [name, 1])) }
  t.strictSame(labels([all]).slice(0, 6), [
    'answered',
    'refused by the second',
    'by the minute',
    'by the hour',
    'by the day',
    'by the month',
  ])
})

t.test('limits in words', (t) => {
  const metered = { limit: 1_000, upTo: '300%' }
  t.equal(limitText(metered), '1,000, then metered up to 300%')
  t.equal(limitText('unlimited'), 'unlimited')
  t.equal(
    limitsText({ perMinute: 60, perDay: metered }),
    '60 a minute, 1,000, then metered up to 300% a day',
  )
  t.end()
})
