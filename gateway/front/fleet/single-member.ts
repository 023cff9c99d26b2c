import type { Clock } from '../../../shared/clock.ts'
import { byConfiguration } from './in-force.ts'
import { goneMs, type FleetStore, type Member } from './store.ts'

/** The fleet of a store that one process has for itself: it is alone, and sees itself. */
export function fleetOfOne(clock: Clock = Date.now): FleetStore {
  const members = new Set<() => Member>()
  const leases = new Map<string, Readonly<{ holder: string; about: string; untilMs: number }>>()
  return {
    size: 1,

    get configs() {
      return byConfiguration([...members].map((self) => self())).length
    },

    join(self) {
      members.add(self)
      return () => {
        members.delete(self)
        return Promise.resolve()
      }
    },

    list() {
      const nowMs = clock()
      const seen = [...members].map((self) => ({ ...self(), seenAtMs: nowMs }))
      return Promise.resolve({ nowMs, members: seen, silent: 0 })
    },

    take(lease, holder, about) {
      const present = leases.get(lease)
      if (present && present.holder !== holder && present.untilMs > clock()) {
        return Promise.resolve(present.about)
      }
      leases.set(lease, { holder, about, untilMs: clock() + goneMs })
      return Promise.resolve(undefined)
    },

    leave(lease, holder) {
      if (leases.get(lease)?.holder === holder) leases.delete(lease)
      return Promise.resolve()
    },

    close() {
      members.clear()
      leases.clear()
      return Promise.resolve()
    },
  }
}
