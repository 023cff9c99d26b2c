import { Caller } from './caller.ts'
import type { Denial, OutsideFinder } from './outside-callers.ts'

/** Several finders as one: each is asked in turn, until one knows the caller, or can't say just now. */
export function oneOf(finders: readonly OutsideFinder[]): OutsideFinder | undefined {
  if (finders.length <= 1) return finders[0]
  return {
    longest: Math.max(...finders.map(({ longest }) => longest)),
    takes: (token, isOver) => finders.some((finder) => finder.takes(token, isOver)),
    async find(token, isOver) {
      let latest: Denial = { reason: 'unknown_token', isTemporary: false }
      for (const finder of finders) {
        if (!finder.takes(token, isOver)) continue
        const result = await finder.find(token, isOver)
        if (result instanceof Caller || result.isTemporary) return result
        latest = result
      }
      return latest
    },
  }
}
