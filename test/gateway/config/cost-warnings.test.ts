import t from 'tap'
import { previewConfig } from '../../../gateway/office/config/preview.ts'
import { configFor } from '../../support/gateway.ts'

const warningsOf = (cost: string): readonly string[] => {
  const routes = `[ { path: /v1/*, upstream: animals, cost: ${cost} } ]`
  const more = 'plans: { free: { perMinute: 100000, perDay: 1000000 } }'
  return previewConfig(configFor('http://127.0.0.1:9', 'file: x.db', { routes, more }), {}, 'x')
    .warnings
}

t.test('a cost that callers could choose is a warning', (t) => {
  const from = 'from: { json: /usage/total_tokens }'
  t.match(warningsOf(`{ estimate: 10, ${from}, atMost: 101 }`), [
    /routes\[0\]\.cost may cost 101, and 10 where nothing is told.*untold: atMost/,
    /routes\[0\]\.cost may cost 101, and 10 or what was passed on.*drain/,
  ])
  t.match(warningsOf(`{ estimate: 0, ${from}, atMost: 5 }`).length, 2)
  for (const sound of [
    `{ estimate: 10, ${from}, atMost: 100 }`,
    `{ estimate: 10, ${from} }`,
    `{ estimate: 10, from: answer, atMost: 1000 }`,
    `{ estimate: 10, ${from}, atMost: 1000, untold: atMost, left: atMost }`,
    `{ estimate: 10, ${from}, atMost: 1000, untold: nothing, drain: { time: 1s, size: 1KiB } }`,
  ]) {
    t.strictSame(warningsOf(sound), [], sound)
  }
  t.end()
})
