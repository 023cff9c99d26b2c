import { numberAt, shortest } from '../../../shared/windows.ts'
import { Refusal } from '../../../shared/refusal.ts'
import type { World } from '../world.ts'

const addresses = ['192.0.2.1', '192.0.2.2', '2001:db8::1']

/** Requests without a valid key. */
export function strangers(world: World): void {
  const { draws, gateways, timeline, trace } = world
  if (gateways.length === 0) return
  const { name, strangers, strangerBook } = draws.oneOf(gateways)
  const address = draws.oneOf(addresses)
  const times = draws.onceIn(4) ? draws.between(2, 6) : 1
  for (let i = 0; i < times; i++) {
    const { standing } = strangers.refuse(address, () => new Refusal('missing_api_key', 'No key.'))
    const { verdict } = standing.decision
    trace.note(`${timeline.nowMs} ${name} hears ${address}: ${verdict}`)
    if (verdict === 'admitted') strangerBook.note(numberAt(shortest, timeline.nowMs))
  }
}
