import { addKeys, get, newTokens } from './callers.ts'
import { contestantsOf } from './contestants.ts'
import { measure, type Contestant, type Say, type Settings } from './measure.ts'
import { table, type Row } from './rows.ts'
import { withStage, type Stage } from './stage.ts'

const manyKeys = 1_000_000

/** Measures the cost of the gateway, beside a bare proxy without keys and limits. */
export async function benchProxy(
  settings: Settings,
  say: Say,
  progress: Say,
): Promise<readonly Row[]> {
  const isQuick = settings.rounds * settings.seconds < 5
  let rows: readonly Row[] = []
  await withStage(async (stage) => {
    const contestants = contestantsOf(stage, isQuick)
    if (!isQuick) contestants.push(...(await bySize(stage, progress)))
    rows = await measure(contestants, settings, progress)
  })
  say(`\n${table(rows, 'standing in between')}`)
  return rows
}

/** The same gateway with few and with many keys and routes. */
async function bySize(stage: Stage, progress: Say): Promise<Contestant[]> {
  const { tokens, known } = stage
  const some = tokens.slice(0, 4)
  const few = stage.gateway('few')
  await few.within((stores) => addKeys(stores, some))
  progress(`making ${manyKeys.toLocaleString('en')} keys`)
  const many = stage.embedded.copy('many', { routes: 1_000 })
  await many.within((stores) => addKeys(stores, newTokens(manyKeys - tokens.length)))
  return [
    {
      name: 'Tollgate, 1 route, 4 keys',
      server: few.server,
      request: get(...some),
      status: 200,
      isVariant: true,
    },
    {
      name: 'Tollgate, 1,000 routes, a million keys',
      server: many.server,
      request: known,
      status: 200,
      isVariant: true,
    },
  ]
}
