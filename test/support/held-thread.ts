import { getEnvironmentData } from 'node:worker_threads'
import { listen } from '../../gateway/office/thread/listen.ts'
import { answerer } from '../../gateway/office/thread/answers.ts'
import { openerOf } from '../../gateway/front/stores/open.ts'
import type { Stores } from '../../gateway/front/stores/stores.ts'
import { act, arrived, begun, gateName, goOn } from './gate.ts'

const gate = new Int32Array(getEnvironmentData(gateName) as SharedArrayBuffer)
Atomics.add(gate, begun, 1)

/** The thread of a gateway, with real stores; a look at peaks does before it what the gate says. */
listen((beginning) =>
  Promise.resolve(
    answerer(beginning, async (settings) => {
      const open = await openerOf(settings)
      return (options) => gated(open(options))
    }),
  ),
)

function gated(stores: Stores): Stores {
  const list: Stores['peaks']['list'] = (...range) => {
    Atomics.add(gate, arrived, 1)
    const wanted = Atomics.load(gate, act)
    // All of this thread stands still.
    if (wanted === 1) Atomics.wait(gate, goOn, 0)
    if (wanted === 2) void Promise.reject(new Error('a fault of the thread'))
    if (wanted === 3)
      for (const all: object[] = []; ;) all.push(new Array(100_000).fill(all.length))
    return stores.peaks.list(...range)
  }
  return { ...stores, peaks: { ...stores.peaks, list } }
}
