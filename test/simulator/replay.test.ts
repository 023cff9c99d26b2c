import t from 'tap'
import type { Decision } from '../../gateway/front/limits/step.ts'
import { startRedis } from '../support/redis.ts'
import { connectionTo } from '../support/redis-stores.ts'
import { replay } from './replay.ts'
import { simulate } from './simulate.ts'
import type { Happening } from './happening.ts'

const redis = await startRedis(t)

async function happeningsOf(seed: number): Promise<Happening[]> {
  const happenings: Happening[] = []
  const happened = (each: Happening): void => void happenings.push(each)
  await simulate(seed, 10_000, { happened })
  return happenings
}

t.test('a real Redis answers as the simulated one does', async (t) => {
  const connection = await connectionTo(t, { url: redis.url })
  for (const seed of [3, 12, 14, 23]) {
    const happenings = await happeningsOf(seed)
    const { questions, difference } = await replay(happenings, connection, `seed${seed}:`)
    t.equal(difference, undefined, `seed ${seed}`)
    t.ok(questions > 100)
  }
})

t.test('an answer that differs is told', async (t) => {
  const connection = await connectionTo(t, { url: redis.url })
  const happenings = await happeningsOf(1)
  const at = happenings.findIndex(
    (each) =>
      each.what === 'message' &&
      each.message.kind === 'decide' &&
      each.message.ask.cost > 0 &&
      (each.answer as Decision).verdict === 'admitted',
  )
  const [first] = happenings.splice(at, 1)
  t.ok(first)
  const { difference } = await replay(happenings, connection, 'differs:')
  t.match(difference, /^q\d+.*, not /, 'a request that Redis never heard of')
})
