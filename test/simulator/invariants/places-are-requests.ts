import { crowded, nameOfPart, takenBy } from '../../../gateway/front/limits/places.ts'
import type { Invariant, Served, Stored } from '../moment.ts'
import type { World } from '../world.ts'

/**
 * The store never has fewer places of a gateway than it has requests under way that the store has let in, but after a loss until
 * that gateway has told them. In the end there are none. Who refuses without the store has its limit, or its part of it, under way.
 */
export const placesAreRequests: Invariant = {
  name: 'places are requests',
  mistakeAt(moment) {
    if (moment.what === 'stored') return fewerIn(moment)
    if (moment.what === 'served') return refusedFor(moment)
    return moment.what === 'quiet' ? leftIn(moment.world) : undefined
  },
}

function fewerIn({ book: { quota }, stored, gateways = [] }: Stored): string | undefined {
  for (const { name, places } of gateways) {
    for (const [part, holders] of stored.state.places ?? []) {
      const { byStore, isLost } = places.of(quota, part)
      const holder = holders.get(name)
      const taken = holder ? takenBy(holder) : 0
      if (!isLost && taken < byStore)
        return `${name} has ${byStore} under way in '${part}', not ${taken}`
    }
  }
  return undefined
}

function refusedFor({ world, gateway, request, decision }: Served): string | undefined {
  const { verdict, decidedBy, places } = decision
  const full = verdict === 'crowded' && decidedBy !== 'store' ? crowded(places) : undefined
  if (!full) return undefined
  const { byStore, alone } = gateway.places.of(request.asker.quota, nameOfPart(full.part))
  const share = Math.max(1, Math.floor(full.limit / world.fleetSize))
  const most = decidedBy === 'alone' ? share : full.limit
  return byStore + alone >= most
    ? undefined
    : `refused by ${decidedBy} beside ${byStore + alone} of ${most}`
}

function leftIn({ redis, gateways }: World): string | undefined {
  for (const [quota, { state }] of redis.quotas) {
    for (const [part, holders] of state.places ?? []) {
      for (const { name } of gateways) {
        const holder = holders.get(name)
        if (holder && takenBy(holder) > 0) {
          return `${takenBy(holder)} places of ${name} are left in ${quota} '${part}'`
        }
      }
    }
  }
  return undefined
}
