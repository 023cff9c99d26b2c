import { usedIn } from '../../gateway/front/limits/counters.ts'
import { dayWindow } from '../../shared/windows.ts'
import { embeddedQuotas } from '../../gateway/front/stores/embedded/quota.ts'
import { openGatewayFile } from '../../gateway/front/stores/embedded/database.ts'
import { quotaFile } from '../../gateway/front/stores/embedded/quota-file.ts'

// A round of placing that takes longer than the next saving, with more quotas than are held for long.
// Timers are turned by hand, in a process of its own. Prints how many of the saved counts are in neither
// the table nor the journal at the end: what a kill -9 would lose. placing.js FILE

const [file = ''] = process.argv.slice(2)
const trueImmediate = setImmediate
const trueNow = performance.now.bind(performance)
let shiftMs = 0
performance.now = () => trueNow() + shiftMs
const intervals: [() => void, number][] = []
const turns: (() => void)[] = []
Object.assign(globalThis, {
  setInterval: (act: () => void, ms: number) => (intervals.push([act, ms]), { unref: () => 0 }),
  setImmediate: (act: () => void) => turns.push(act),
})

const tick = (): Promise<void> => new Promise((resolve) => void trueImmediate(resolve))
const turn = async (times = Infinity): Promise<void> => {
  await tick()
  for (let i = 0; i < times && turns.length > 0; i++) {
    turns.shift()?.()
    await tick()
  }
}
const store = embeddedQuotas(openGatewayFile(file))
const write = intervals.find(([, ms]) => ms === 500)?.[0] ?? (() => undefined)
const limits = { perMinute: Infinity, perDay: Infinity }
const counts = new Map<string, number>()
const ask = (kind: string, times: number): void => {
  for (let i = 0; i < times; i++) {
    const name = `${kind}${String(i).padStart(6, '0')}`
    store.decide(name, { key: name, cost: 1, limits })
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
}
const round = (): void => {
  shiftMs += 10_001
  write()
}

ask('a', 100_001)
ask('m', 2_000)
write()
await turn()
round()
await turn()
ask('m', 2_000)
write()
await turn()
round()
await turn(6)
// The round is between two batches, and requests are served; then it is time to save again.
const rest = turns.shift()
ask('m', 2_000)
write()
await turn(7)
const other = turns.shift()
rest?.()
await turn()
other?.()
await turn()

const found = quotaFile(openGatewayFile(file))
const journal = found.journal()
const stateOf = (name: string) => journal.get(name) ?? found.read(name)
const usedOf = (name: string) => {
  const state = stateOf(name)
  return state && usedIn(state, dayWindow)
}
const lost = [...counts].filter(([name, count]) => usedOf(name) !== count).length
process.stdout.write(JSON.stringify({ quotas: counts.size, lost }))
process.exit(0)
