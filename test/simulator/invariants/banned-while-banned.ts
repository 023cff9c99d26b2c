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
    const { nowMs } = world.redis
    const isTold = gateway.forgivenAtMs >= ban.liftedAtMs && nowMs > ban.liftedAtMs + offMs
    if (!isTold) return undefined
    if (ban.untilMs + offMs + gateway.lagMs > nowMs) return undefined
    return ban.untilMs === 0 ? 'its ban was lifted' : `its ban ended at ${ban.untilMs}`
  },
}
