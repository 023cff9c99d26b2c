import { connect } from '../../../gateway/front/stores/redis/connect.ts'
import { startRedis } from '../../support/redis.ts'
import { replay } from '../replay.ts'
import { reportOf } from '../report.ts'
import { simulate } from '../simulate.ts'
import type { Happening } from '../happening.ts'

/** The seeds that a fault is tried with; the first ones are replayed against a real Redis. */
const [seeds, replayedSeeds, steps] = [70, 10, 50_000]

const endings: (() => unknown)[] = []
const redis = await startRedis({ teardown: (end) => void endings.push(end) })
const connection = connect({ url: redis.url }, { timeoutMs: 5_000, patient: true })
process.exitCode = (await finding()) === undefined ? 0 : 1
connection.disconnect()
for (const end of endings.reverse()) await end()

/** Prints what is found first. */
async function finding(): Promise<string | undefined> {
  for (let seed = 1; seed <= seeds; seed++) {
    const happenings: Happening[] = []
    const happened = (each: Happening): void => void happenings.push(each)
    const simulated = await simulate(seed, steps, { happened })
    const { violation } = simulated
    if (violation) return told(reportOf(simulated).text, violation.name)
    if (seed > replayedSeeds) continue
    const { difference } = await replay(happenings, connection, `seed${seed}:`)
    if (difference) return told(`seed ${seed}: ${difference}\n`, 'a real Redis answers otherwise')
  }
  return undefined
}

function told(text: string, law: string): string {
  process.stdout.write(`${text}${law}\n`)
  return law
}
