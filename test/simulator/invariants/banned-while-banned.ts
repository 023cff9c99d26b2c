import type { Invariant } from '../moment.ts'

/** How far a gateway's estimate of the store's time may be off. */
const offMs = 5_000

/** Only a key is banned whose ban runs, or was ended since the gateway was told last that bans were. */
export const bannedWhileBanned: Invariant = {
  name: 'banned while banned',
  mistakeAt(moment) {
    if (moment.what !== 'served' || moment.decision.verdict !== 'banned') return undefined
    const { world, gateway, book, request, decision } = moment
    if (decision.decidedBy === 'alone' && decision.bans) return undefined
    const ban = book.bans.of(request.asker.id)
    if (!ban) return 'it was never banned'
    if (ban.liftedAtMs + offMs > gateway.forgivenAtMs) return undefined
    return ban.untilMs + offMs + gateway.lagMs > world.redis.nowMs
      ? undefined
      : `its ban ended at ${ban.untilMs}`
  },
}
