import t from 'tap'
import { stringify } from 'yaml'
import { BodyCost } from '../../../gateway/front/forwarding/body-cost.ts'
import { costTerms } from '../../../gateway/front/limits/answer-cost.ts'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { recipes, type Recipe } from '../../support/recipes.ts'
import { until } from '../../support/until.ts'

/** The cost of a body that comes in pieces of so many bytes. */
function costIn(
  { from }: Recipe,
  type: string,
  body: string,
  bytes = Infinity,
): string | undefined {
  const { answerCost } = costTerms({ estimate: 1, from, atMost: 1_000_000 })
  const cost = new BodyCost({ 'content-type': type }, answerCost?.inBody ?? [])
  const all = Buffer.from(body)
  for (let i = 0; i < all.length; i += bytes) cost.add(all.subarray(i, i + bytes), true)
  return cost.told.costText?.toString()
}

/** The answers of a recipe in many forms, all of which cost the same. */
function formsOf({ whole, streamed }: Recipe): readonly (readonly [string, string, string])[] {
  const [ofJson, ofEvents] = ['application/json', 'text/event-stream; charset=utf-8']
  const events = streamed.split('\n\n').filter(Boolean)
  const commented = events.map((event) => `: ping\n\n${event}\n\n`).join('')
  const data = [...streamed.matchAll(/^data: (\{.*)$/gm)].map(([, text = '']) => text)
  return [
    ['whole', ofJson, whole],
    ['whole, in many lines', ofJson, JSON.stringify(JSON.parse(whole), null, 2)],
    ['whole, with a byte order mark', ofJson, `\uFEFF${whole}`],
    ['streamed', ofEvents, streamed],
    ['streamed, with CRLF', ofEvents, streamed.replaceAll('\n', '\r\n')],
    ['streamed, with CR', ofEvents, streamed.replaceAll('\n', '\r')],
    ['streamed, with comments', ofEvents, commented],
    ['streamed, with a byte order mark', ofEvents, `\uFEFF${streamed}`],
    ['streamed, without spaces', ofEvents, streamed.replaceAll('data: ', 'data:')],
    ['as a list', ofJson, `[${data.join(',\n')}]`],
    ['by the line', 'application/x-ndjson', data.join('\n')],
    ['as a sequence', 'application/json-seq', data.map((text) => `\x1e${text}\n`).join('')],
  ]
}

const all = recipes()

t.test('the page has four recipes', (t) => {
  const names = [
    'OpenAI, chat completions',
    'OpenAI, responses.',
    'Anthropic, messages.',
    'Gemini.',
  ]
  t.strictSame(
    all.map(({ name }) => name),
    names,
  )
  t.end()
})

for (const recipe of all) {
  t.test(`${recipe.name} costs what the API says, in whichever form, cut anywhere`, (t) => {
    for (const [form, type, body] of formsOf(recipe)) {
      for (const bytes of [1, 2, 3, 7, 100, Infinity]) {
        t.equal(costIn(recipe, type, body, bytes), String(recipe.points), `${form}, by ${bytes}`)
      }
      const { length } = Buffer.from(body)
      let wrong = 0
      for (let cut = 1; cut < length; cut++) {
        const { answerCost } = costTerms({ estimate: 1, from: recipe.from, atMost: 1_000_000 })
        const cost = new BodyCost({ 'content-type': type }, answerCost?.inBody ?? [])
        const bytes = Buffer.from(body)
        cost.add(bytes.subarray(0, cut), true)
        cost.add(bytes.subarray(cut), true)
        if (cost.told.costText !== String(recipe.points) || !cost.told.isWhole) wrong++
      }
      t.equal(wrong, 0, `${form}, cut at each of ${length} bytes`)
    }
    t.end()
  })

  t.test(`${recipe.name} through a gateway`, async (t) => {
    const forms = formsOf(recipe)
    const upstream = await startUpstream(t, ({ url = '' }, response) => {
      const [, type = '', body = ''] = forms[Number(url.slice('/v1/'.length))] ?? []
      const bytes = Buffer.from(body)
      response.writeHead(200, { 'content-type': type }).write(bytes.subarray(0, 40))
      setTimeout(() => response.end(bytes.subarray(40)), 10)
    })
    const cost = { estimate: 5, from: recipe.from, atMost: 1_000 }
    const gateway = await startGateway(t, {
      upstream,
      clock: () => Date.UTC(2026, 10, 20, 12),
      more: 'plans: { free: { perMinute: 1000000, perDay: 10000000 } }',
      routes: stringify([{ path: '/v1/*', upstream: 'animals', cost }]).replace(/^/, '\n'),
    })
    const { headers } = await gateway.key()
    for (const [i, [, , body]] of forms.entries()) {
      const answer = await gateway.call('GET', `/v1/${i}`, undefined, headers)
      t.equal(answer.text, body.replace(/^\uFEFF/, ''), 'passed on as it is')
    }
    await until(async () => {
      const { minute } = json(await gateway.call('GET', '/v1/quota', undefined, headers))
      const { limit, remaining } = minute as { limit: number; remaining: number }
      return limit - remaining === forms.length * recipe.points
    })
  })
}

t.test('weights are summed exactly, and rounded up once', (t) => {
  for (const [weights, numbers, points] of [
    [{ '/a': 0.1, '/b': 0.2 }, [1, 1], 1],
    [{ '/a': 0.1, '/b': 0.2 }, [10, 10], 3],
    [{ '/a': 0.1, '/b': 0.2 }, [10, 11], 4],
    [{ '/a': 0.000001 }, [1_000_000], 1],
    [{ '/a': 0.000001 }, [1_000_001], 2],
    [{ '/a': 1_000_000 }, [3], 3_000_000],
    [{ '/a': 0.3 }, [9_007_199_254_740_991], 2_702_159_776_422_298],
  ] as const) {
    const { answerCost } = costTerms({ estimate: 1, from: { json: weights }, atMost: 1 })
    const cost = new BodyCost({ 'content-type': 'application/json' }, answerCost?.inBody ?? [])
    cost.add(Buffer.from(JSON.stringify({ a: numbers[0], b: numbers[1] })), true)
    t.equal(cost.told.costText, String(Math.min(points, 9_999_999_999)), JSON.stringify(weights))
  }
  t.end()
})

t.test('a member that never comes counts 0, and one that is malformed spoils all', (t) => {
  const told = (...texts: readonly string[]) => {
    const from = { json: { '/a /b': 1, '/c': 10 } }
    const { answerCost } = costTerms({ estimate: 1, from, atMost: 1 })
    const cost = new BodyCost({ 'content-type': 'text/event-stream' }, answerCost?.inBody ?? [])
    for (const text of texts) cost.add(Buffer.from(`data: ${text}\n\n`), true)
    const { costText, isWhole, passed } = cost.told
    return [costText, isWhole, passed]
  }
  t.strictSame(told('{"a":3}'), ['3', false, 10])
  t.strictSame(told('{"a":3}', '{"b":5}'), ['5', false, 20], 'one member at two places')
  t.strictSame(told('{"a":3,"b":5}'), ['5', false, 10])
  t.strictSame(told('{"c":2}', '{"a":3}'), ['23', true, 20])
  t.strictSame(told('{"a":3}', '{"c":1.5}'), ['nonsense', true, 20])
  t.strictSame(told('{"a":"x"}', '{"a":3,"c":1}'), ['13', true, 20], 'the last one counts')
  t.strictSame(told('{"a":null}', '{"d":1}'), [undefined, false, 20])
  t.end()
})
