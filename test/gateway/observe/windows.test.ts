import t from 'tap'
import { byWindow, windows, type WindowName } from '../../../shared/windows.ts'
import { startAdmin } from '../../support/admin.ts'
import { startCollector } from '../../support/collector.ts'
import { json } from '../../support/http.ts'
import { logged, said } from '../../support/logs.ts'
import { tracing } from '../../support/spans.ts'
import { until } from '../../support/until.ts'

const noon = Date.UTC(2026, 10, 20, 12)

/** A plan for each window, which limits it to two points, and its shadow to one. */
const plans = windows.map(({ name, limit }) => {
  const others = { perMinute: 'unlimited', perDay: 'unlimited' }
  const limits = (points: number) => JSON.stringify({ ...others, [limit]: points }).slice(1, -1)
  return `${name}: { ${limits(2)}, bans: off, shadow: { ${limits(1)} } }`
})

t.test('metrics, usage, log and spans name each window that refuses', async (t) => {
  const { log, output } = logged()
  const collector = await startCollector(t)
  const { gateway, ask, operate } = await startAdmin(t, {
    ...{ log, clock: () => noon },
    more: `plans:\n  ${plans.join('\n  ')}\n${tracing(collector)}`,
  })
  const read = async () => (await operate('GET', '/metrics')).text
  const seriesOf = (text: string, name: string, plan: string): Record<string, number> => {
    const lines = text.split('\n').filter((line) => line.startsWith(`tollgate_${name}{`))
    return Object.fromEntries(
      lines
        .filter((line) => line.includes(`plan="${plan}"`) && !line.includes('window=""'))
        .map((line) => [
          /window="(\w+)"/.exec(line)?.[1] ?? '',
          Number(line.slice(line.lastIndexOf(' '))),
        ]),
    )
  }
  /** Counts of a plan's series: 0 for its required windows, and for its own window this. */
  const counts = (own: WindowName, count: number, isTold = true) => ({
    ...{ minute: 0, day: 0 },
    ...(isTold && { [own]: count }),
  })
  const check = async (refused: number, near: number): Promise<void> => {
    const text = await read()
    for (const { name, isBrief } of windows) {
      t.strictSame(seriesOf(text, 'refusals_total', name), counts(name, refused))
      t.strictSame(seriesOf(text, 'near_limit_total', name), counts(name, near, !isBrief))
      t.strictSame(seriesOf(text, 'shadow_refusals_total', name), counts(name, near))
    }
  }
  await check(0, 0)
  const keys = byWindow(({ name }) => gateway.key({ plan: name }))
  for (const { name } of windows) {
    const { headers } = await keys[name]
    for (let i = 0; i < 3; i++) await gateway.call('GET', '/v1/x', undefined, headers)
  }
  await until(async () => seriesOf(await read(), 'refusals_total', 'month')['month'] === 1)
  await check(1, 1)
  for (const { name } of windows) {
    const { key } = await keys[name]
    await until(() => said(output(), `"window":"${name}"`).length === 1)
    const line = { decision: 'rate_limit_exceeded', reason: name, key: key.id }
    t.match(said(output(), `"window":"${name}"`), [line])
    t.match(json(await ask('GET', `/admin/usage/${key.id}`)), [
      { admitted: 2, refused: { rate_limit_exceeded: 1 } },
    ])
    const isOfWindow = ({ attributes }: { attributes: Record<string, unknown> }) =>
      attributes['tollgate.window'] === name
    await until(() => collector.spans.filter(isOfWindow).length === 1)
    t.match(collector.spans.find(isOfWindow)?.attributes, {
      'tollgate.decision': 'rate_limit_exceeded',
      'tollgate.plan': name,
    })
  }
})
