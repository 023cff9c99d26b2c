import t, { type Test } from 'tap'
import type { KeySettings } from '../../../gateway/front/keys/key.ts'
import { startGateway, type GatewayOptions } from '../../support/gateway.ts'
import { json, type Answer } from '../../support/http.ts'
import { rate } from '../../support/rates.ts'
import { startRedis } from '../../support/redis.ts'
import { isOverLimit } from '../../support/refusals.ts'

const noon = Date.UTC(2026, 5, 15, 12, 0, 10)
const midnight = Date.UTC(2026, 5, 16) / 1000
const plans = 'plans: { free: { perMinute: 100, perDay: 1000 } }'

async function start(t: Test, options: GatewayOptions = {}) {
  const gateway = await startGateway(t, { clock: () => noon, more: plans, ...options })
  const keyWith = async (settings: Partial<KeySettings>) => {
    const { headers, key } = await gateway.key({ account: 'acme', ...settings })
    const ask = (path = '/v1/pets') => gateway.call('GET', path, undefined, headers)
    return { ask, key, headers, quota: async () => json(await ask('/v1/quota')) }
  }
  return { ...gateway, keyWith }
}

const admitted = (answers: readonly Answer[]) =>
  answers.filter(({ status }) => status === 200).length

async function times(count: number, ask: () => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let i = 0; i < count; i++) answers.push(await ask())
  return answers
}

t.test('a cap is counted for its key alone, and the account goes on', async (t) => {
  const { keyWith } = await start(t)
  const [a, b] = [await keyWith({}), await keyWith({ cap: { perMinute: 3 } })]
  t.equal(admitted(await times(50, a.ask)), 50)
  const ofB = await times(5, b.ask)
  t.equal(admitted(ofB), 3)
  t.strictSame(rate(ofB[0] as Answer), [3, 2, noon / 1000 + 50], 'it has the fewest remaining')
  const sentence = /^Your key’s cap of 3 requests a minute is used up\. Try again at 12:01:00 UTC/
  isOverLimit(t, ofB[4] as Answer, 'rate_limit_exceeded', sentence, 50)
  t.equal(admitted(await times(60, a.ask)), 47, 'what the cap refused cost the account nothing')
  t.match(await b.quota(), {
    minute: { remaining: 0 },
    cap: { minute: { limit: 3, remaining: 0 } },
  })
  t.equal((await a.quota())['cap'], undefined)
})

t.test('a rotation keeps the count of a cap, another account begins it at 0', async (t) => {
  const { keyWith, desk, call } = await start(t)
  const { ask, key, quota } = await keyWith({ cap: { perDay: 2 } })
  await ask()
  const { token } = await desk.rotate(key.id, 0)
  const rotated = () => call('GET', '/v1/quota', undefined, { authorization: `Bearer ${token}` })
  t.match(json(await rotated()), { cap: { day: { remaining: 1, reset: midnight } } })
  await desk.edit(key.id, desk.changing({ cap: { perDay: 9 } }))
  const remaining = async (expected: number) => {
    let left: unknown
    for (let i = 0; i < 50 && left !== expected; i++) {
      left = (json(await rotated())['cap'] as { day?: { remaining: number } } | undefined)?.day
        ?.remaining
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    t.equal(left, expected)
  }
  await remaining(8)
  await desk.edit(key.id, desk.changing({ account: 'other' }))
  await remaining(9)
  t.equal((await quota())['code'], 'invalid_api_key')
})

t.test('a cap needs an account, and is no test key’s', async (t) => {
  const { key, desk, keyWith } = await start(t)
  await t.rejects(key({ cap: { perDay: 1 } }), /a cap is a part of an account’s quota/)
  await t.rejects(keyWith({ cap: { perDay: 1 }, test: true }), /a test key has a quota of its own/)
  const { key: made } = await keyWith({ cap: { perDay: 1 } })
  await t.rejects(desk.edit(made.id, desk.changing({ account: undefined })), /a cap is a part/)
  const alone = desk.changing({ account: undefined, cap: { perDay: undefined } })
  t.match(await desk.edit(made.id, alone), { account: undefined, cap: undefined })
})

t.test('a reset of the quota empties the caps of its keys', async (t) => {
  const { keyWith, stores } = await start(t)
  const [a, b] = [await keyWith({ cap: { perDay: 1 } }), await keyWith({ cap: { perDay: 1 } })]
  for (const { ask } of [a, b]) t.equal(admitted(await times(2, ask)), 1)
  await stores.quota.reset('account:acme')
  for (const { ask } of [a, b]) t.equal(admitted(await times(2, ask)), 1)
})

t.test('four gateways on one Redis let a capped key in exactly as often', async (t) => {
  const { url } = await startRedis(t)
  const options = { clock: Date.now, storeClock: () => noon, store: `redis: "${url}"` }
  const first = await start(t, options)
  const { upstream } = first
  const others = await Promise.all([1, 2, 3].map(() => start(t, { ...options, upstream })))
  const [a, b] = [await first.keyWith({}), await first.keyWith({ cap: { perMinute: 3 } })]
  const all = [first, ...others]
  const asked = Array.from({ length: 200 }, (_, i) =>
    all[i % 4]?.call('GET', '/v1/pets', undefined, i % 8 < 4 ? a.headers : b.headers),
  )
  const answers: (Answer | undefined)[] = await Promise.all(asked.map(async (each) => each))
  const ofB = answers.filter((answer, i) => i % 8 >= 4 && answer?.status === 200)
  t.equal(ofB.length, 3)
  t.equal(answers.filter((answer) => answer?.status === 200).length, 100)
})
