import t from 'tap'
import { partsOf, refusedOf } from '../../gateway/office/admin/console/charts/outcomes.ts'
import { limitsText, limitText, windows as shown } from '../../gateway/front/http/page/windows.ts'
import { limitInWords } from '../../gateway/front/limits/limit-settings.ts'
import { limitFrom, writtenLimit } from '../../gateway/office/admin/console/written-limit.ts'
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
  t.strictSame(labels([all]).slice(0, 7), [
    'answered',
    'refused by the second',
    'by the minute',
    'by the hour',
    'by the day',
    'by the week',
    'by the month',
  ])
})

t.test('pages and commands say a limit in the same words', (t) => {
  const metered = (limit: number, upTo: string) => ({ limit, beyond: 'meter', upTo }) as const
  const settings = [
    [60, '60'],
    [1_234_567, '1,234,567'],
    ['unlimited', 'unlimited'],
    [metered(300, '300%'), '300 included, metered up to 900'],
    [metered(1_000, '115.3%'), '1,000 included, metered up to 1,153'],
    [metered(7, '133.333%'), '7 included, metered up to 9'],
    [metered(9_007, 'unlimited'), '9,007 included, metered without limit'],
  ] as const
  for (const [setting, words] of settings) {
    t.equal(limitInWords(setting), words)
    t.equal(limitText(setting), words)
    t.strictSame(limitFrom(writtenLimit(setting)), setting, writtenLimit(setting))
  }
  const atOnce = { perMinute: 60, atOnce: { limit: 3 } }
  t.equal(limitsText(atOnce), '60 a minute, 3 at once')
  t.equal(limitsText({ atOnce: 'unlimited' }), 'unlimited at once')
  for (const text of ['', '0x3', '-1', '6O', '1 000']) t.equal(limitFrom(text), undefined, text)
  t.end()
})
