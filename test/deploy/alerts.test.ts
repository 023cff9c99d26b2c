import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { marks } from '../../gateway/office/admin/console/charts/outcomes.ts'
import { operations } from '../../gateway/office/operations/all.ts'
import { folder, read } from '../support/deployment.ts'
import { root } from '../support/process.ts'
import { promtool } from '../support/prometheus.ts'
import { dashboardSchema, type Panel } from './dashboard.ts'
import { situations, type Situation } from './alert-situations.ts'
import { folderOf } from '../support/folder.ts'

type Rule = Readonly<{
  alert: string
  expr: string
  for?: string
  labels: Readonly<Record<string, string>>
  annotations: Readonly<Record<string, string>>
}>
type Rules = { groups: { name: string; rules: Rule[] }[] }

const text = read('alerts.yaml')
const rules = rulesIn(text)

function rulesIn(file: string): Rule[] {
  return (parse(file) as Rules).groups.flatMap((group) => group.rules)
}

t.test('promtool finds 15 rules, and no mistake', async (t) => {
  const { code, output } = await promtool('check', 'rules', join(folder, 'alerts.yaml'))
  t.equal(code, 0, output)
  t.match(output, '15 rules found')
  t.equal(new Set(rules.map(({ alert }) => alert)).size, 15)
})

t.test('documents tell the number of rules', (t) => {
  const documents = ['README.md', 'config/guides/operating.md', 'config/deploy/README.md']
  const numbers = documents.flatMap((file) => [
    ...readFileSync(join(root, file), 'utf8').matchAll(/(\d+) alerts/g),
  ])
  t.ok(numbers.length >= documents.length)
  for (const [text, number] of numbers) t.equal(Number(number), rules.length, text)
  t.end()
})

t.test('each alert says what happened, and which command of ours to run', (t) => {
  const commands = operations.map(({ name }) => name)
  for (const { alert, labels, annotations } of rules) {
    t.strictSame(Object.keys(annotations), ['summary', 'description'], alert)
    t.match(labels['severity'], /^(?:critical|warning)$/)
    const run = [...(annotations['description'] ?? '').matchAll(/`tollgate ([a-z ]+[a-z])/g)]
    t.not(run.length, 0, `${alert} names a command`)
    for (const [, command = ''] of run) {
      t.ok(commands.includes(command), `${alert}: tollgate ${command}`)
    }
  }
  t.end()
})

t.test('the console marks the same figures', (t) => {
  const figures = {
    TollgateUpstreamFailing: marks.failed,
    TollgateManyRefusals: marks.refused,
    TollgateGatewaySlow: marks.own / 1_000,
  }
  for (const [alert, figure] of Object.entries(figures)) {
    const { expr = '' } = rules.find((rule) => rule.alert === alert) ?? {}
    t.match(expr, new RegExp(`> ${figure}$`, 'm'), alert)
  }
  t.end()
})

/** The labels and the sentence of a rule in a situation. */
function expected({ labels: own, annotations }: Rule, { labels }: Situation) {
  const filled = Object.entries(annotations).map(([name, text]) => [
    name,
    text.replace(/\{\{ \$labels\.(\w+) \}\}/g, (_all, label: string) => labels[label] ?? ''),
  ])
  return {
    exp_labels: { ...labels, ...own },
    exp_annotations: Object.fromEntries(filled) as object,
  }
}

/** The rule with other waits and other limits, one at a time. */
function* changesOf(rule: Rule): Generator<Rule> {
  const { expr } = rule
  const [, amount = '', unit = ''] = /^(\d+)([sm])$/.exec(rule.for ?? '') ?? []
  for (const wait of amount ? [`${2 * Number(amount)}${unit}`, '0s'] : []) {
    yield { ...rule, for: wait }
  }
  for (const { 0: written, 1: sign = '', 2: limit = '', index } of expr.matchAll(
    /(>=? )(0\.\d+|[1-9]\d*)$/gm,
  )) {
    for (const by of [2, 0.67]) {
      const rest = expr.slice(index + written.length)
      yield { ...rule, expr: `${expr.slice(0, index)}${sign}${Number(limit) * by}${rest}` }
    }
  }
}

/** The tests of some forms of one rule, as promtool wants them: in its situations, and just below. */
function testsOf(of: string, forms: readonly Rule[]): object[] {
  const test = (series: Situation['series'], checks: object[]) => ({
    interval: '15s',
    input_series: Object.entries(series).map(([series, values]) => ({ series, values })),
    alert_rule_test: checks,
  })
  const quiet = (at: string) =>
    forms.map(({ alert }) => ({ eval_time: at, alertname: alert, exp_alerts: [] }))
  return situations
    .filter(({ alert }) => alert === of)
    .flatMap((situation) => {
      const { series, fires, silent, calm } = situation
      const loud = forms.map((rule) => {
        return { eval_time: fires, alertname: rule.alert, exp_alerts: [expected(rule, situation)] }
      })
      const never = ['1m', '5m30s', '9m45s', '15m15s'].flatMap(quiet)
      return [
        test(series, [...loud, ...silent.flatMap(quiet)]),
        ...(calm ? [test(calm, never)] : []),
      ]
    })
}

t.test('each alert fires in its situation, neither before nor just below', async (t) => {
  const tested = new Set(situations.map(({ alert }) => alert))
  t.strictSame([...tested].sort(), rules.map(({ alert }) => alert).sort(), 'each has a situation')
  // Beside each rule run some that wait or bear more, or less: these must fail, or the situations prove nothing.
  const changed = new Map(
    rules.map((rule) => [
      rule,
      [...changesOf(rule)].map((other, i) => ({ ...other, alert: `${rule.alert}${i}` })),
    ]),
  )
  const forms = [...changed].flatMap(([rule, others]) => [rule, ...others])
  const folder = folderOf(t, {
    'rules.yaml': stringify({ groups: [{ name: 'all', rules: forms }] }),
    'tests.yaml': stringify({
      ...{ rule_files: ['rules.yaml'], evaluation_interval: '15s' },
      tests: [...changed].flatMap(([rule, others]) => testsOf(rule.alert, [rule, ...others])),
    }),
  })
  const { output } = await promtool('test', 'rules', join(folder, 'tests.yaml'))
  const failed = new Set(
    [...output.matchAll(/alertname:\s*(Tollgate\w+)/g)].map(([, name]) => name),
  )
  t.ok(forms.length > 40)
  for (const [rule, others] of changed) {
    t.notOk(failed.has(rule.alert), rule.alert, { output })
    for (const other of others) {
      t.ok(failed.has(other.alert), `not if it is ${other.expr} for ${other.for}`)
    }
  }
})

t.test('the README lists the alerts', (t) => {
  const readme = readFileSync(join(root, 'config/deploy/README.md'), 'utf8')
  const rows = [...readme.matchAll(/^\| `(Tollgate\w+)` +\| (\w+) +\| (\S+) +\|/gm)]
  t.strictSame(
    rows.map(([, ...cells]) => cells),
    rules.map(({ alert, labels, for: wait = '–' }) => [alert, labels['severity'], wait]),
  )
  t.end()
})

t.test('the dashboard is one that any Grafana can load', (t) => {
  const text = read('grafana.json')
  const isDashboard = new Ajv({ allErrors: true }).compile(dashboardSchema)
  isDashboard(JSON.parse(text))
  t.strictSame(isDashboard.errors, null)
  const other = JSON.parse(text.replaceAll('"gridPos"', '"grid"')) as unknown
  t.notOk(isDashboard(other), 'the schema knows what is wrong')
  t.end()
})

t.test('its panels have ids of their own, and places that do not overlap', (t) => {
  const { panels } = JSON.parse(read('grafana.json')) as { panels: Panel[] }
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  t.equal(new Set(panels.map(({ title }) => title)).size, panels.length)
  const taken = new Map<string, string>()
  for (const { title, gridPos } of panels) {
    const { x, y, w, h } = gridPos
    t.ok(x + w <= 24, `${title} is inside of the 24 columns`)
    for (let cell = 0; cell < w * h; cell++) {
      const place = `${x + (cell % w)} ${y + Math.floor(cell / w)}`
      t.notOk(taken.has(place), `${title} is not upon ${taken.get(place)}`)
      taken.set(place, title)
    }
  }
  const heights = panels.map(({ gridPos }) => gridPos.y + gridPos.h)
  t.equal(taken.size, 24 * Math.max(...heights), 'and leave no hole')
  t.end()
})
