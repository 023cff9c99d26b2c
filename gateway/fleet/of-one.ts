import type { Clock } from '../../shared/clock.ts'
import type { FleetStore, Member } from './store.ts'

/** The fleet of a store that one process has for itself: it is alone, and sees itself. */
export function fleetOfOne(clock: Clock = Date.now): FleetStore {
  const members = new Set<() => Member>()
  return {
    size: 1,

    get configs() {
      const hashes = [...members].flatMap((self) => self().config?.hash ?? [])
      return new Set(hashes).size
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

    close() {
      members.clear()
      return Promise.resolve()
    },
  }
}
