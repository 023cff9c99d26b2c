import { iso } from '../../../shared/times.ts'
import { byName, configsInForce, inForceText, toldApart } from '../../front/fleet/in-force.ts'
import type { FleetState, SeenMember } from '../../front/fleet/store.ts'

/** The fleet as programs are told of it. */
export function fleetView(fleet: FleetState) {
  const state = toldApart(fleet)
  const { members, silent, differSinceMs } = state
  return {
    // A hash that ends it has an ellipsis already.
    summary: inForceText(state).replace(/(?<![.…])$/, '.'),
    differSinceAt: iso(differSinceMs) ?? null,
    inForce: inForceView(state),
    /** Gateways of another version, which tell nothing about themselves. */
    anotherVersion: silent,
    gateways: [...members].sort(byName).map(memberView),
  }
}

export type FleetView = ReturnType<typeof fleetView>

/** The configurations in force with the names of their gateways. */
export function inForceView(state: Pick<FleetState, 'members'>) {
  return configsInForce(state).map(({ hash, members, sinceMs }) => ({
    hash,
    sinceAt: iso(sinceMs),
    gateways: members.map(({ name }) => name),
  }))
}

function memberView({ config, pid, worker, address, ...member }: SeenMember) {
  return {
    name: member.name,
    id: member.id,
    host: member.host,
    pid: pid ?? null,
    worker: worker ?? null,
    version: member.version,
    startedAt: iso(member.sinceMs),
    lastSeenAt: iso(member.seenAtMs),
    address: address ?? null,
    store: member.store,
    config: config
      ? { hash: config.hash, sinceAt: iso(config.sinceMs), refuses: config.refusal ?? null }
      : null,
  }
}
