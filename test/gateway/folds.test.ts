import t from 'tap'
import { Refusal } from '../../shared/refusal.ts'
import type { Ended } from '../../gateway/front/counts/ended.ts'
import { countEnded } from '../../gateway/front/counts/folds.ts'
import { Meters, RouteMeter } from '../../gateway/front/counts/meters.ts'
import type { NearLimit } from '../../gateway/front/counts/near-limits.ts'
import { openCounts } from '../../gateway/front/counts/request-counts.ts'
import { OwnMember } from '../../gateway/front/fleet/own-member.ts'
import { Caller } from '../../gateway/front/keys/caller.ts'
import { shadowOf } from '../../gateway/front/limits/shadow.ts'
import { newQuota } from '../../gateway/front/limits/quota-state.ts'
import { step } from '../../gateway/front/limits/step.ts'
import { dayMs, minuteMs, requiredWindows } from '../../shared/windows.ts'
import { Closers } from '../../shared/closers.ts'
import { newKey } from '../contracts/keys.ts'
import { endedFor } from '../support/ended.ts'

const nowMs = Date.UTC(2026, 10, 20, 12)
const limits = { perMinute: 2, perDay: 100 }
const terms = {
  ...{
    limits,
    countsBrief: false,
    recorded: requiredWindows,
    allParts: undefined,
    partsOf: undefined,
  },
  ...{ bans: undefined, forbids: undefined, near: undefined },
  shadow: shadowOf('free', { perMinute: 1, perDay: 100 }),
}

/** All counts of requests over stores that keep the lines of each space. */
function counting() {
  const lines: Record<string, unknown[]> = {}
  const space = (name: string) => ({
    add: (batch: { lines: readonly unknown[] }) => {
      ;(lines[name] ??= []).push(...batch.lines)
      return Promise.resolve()
    },
  })
  const near: NearLimit[] = []
  const counts = openCounts({
    stores: {
      ...{ tallies: space('tallies'), timeline: space('timeline'), peaks: space('peaks') },
      lastUses: {
        note: () => Promise.resolve(),
        of: () => Promise.resolve([]),
        since: () => Promise.resolve(undefined),
      },
      refusals: {
        put: (chunk) => {
          ;(lines['refusals'] ??= []).push(chunk)
          return Promise.resolve()
        },
      },
    },
    member: () => new OwnMember().memberOf('a store'),
    meters: new Meters(),
    settle: () => Promise.resolve(),
    nearLimit: (each) => void near.push(each),
    trouble: () => () => undefined,
    clock: () => nowMs,
    closers: new Closers(),
  })
  counts.nearLimits.watch([2, 100])
  const end = (ended: Ended): void => countEnded(ended, counts)
  return { ...counts, lines, near, end }
}

t.test('each fold counts its part of requests that have ended', async (t) => {
  const { lines, near, end, meters, recentRefusals, liveCounts, flushCounts } = counting()
  const caller = new Caller('token', { key: newKey(), version: 1 })
  const [quota, meter] = [newQuota(), new RouteMeter()]
  const route = { upstream: 'animals', config: 'c', isFree: false, meter }
  const about = { caller, terms, route, atMs: nowMs }
  const decided = (cost: number) => {
    const decision = step(quota, { key: caller.id, cost, limits }, nowMs)
    return { decision, limits }
  }
  end(endedFor({ ...about, stand: decided(2) }))
  end(endedFor({ ...about, stand: decided(0), isGivenBack: true, status: 503 }))
  const full = new Refusal('rate_limit_exceeded', 'Full.').because('minute', undefined, 'minute')
  end(endedFor({ ...about, stand: decided(1), refusal: full, status: 429 }))
  const forbidden = new Refusal('forbidden', 'No.').because('path')
  end(
    endedFor({
      ...{ ...about, stand: decided(0), forbidden: 'path' },
      ...{ refusal: forbidden, status: 403 },
    }),
  )
  end(endedFor({ ...about, stand: decided(1), route: { ...route, isFree: true } }))
  end(endedFor({ refusal: new Refusal('missing_api_key', 'None.'), status: 401, plan: 'none' }))
  await flushCounts()

  const tallied = (lines['tallies'] ?? []) as { what: string; count: number }[]
  t.strictSame(Object.fromEntries(tallied.map(({ what, count }) => [what, count])), {
    'admitted 2xx': 1,
    'admitted 5xx': 1,
    'points more': 1,
    'points less': 1,
    'refused rate_limit_exceeded minute': 1,
    'refused forbidden': 1,
    [terms.shadow.tallies.all]: 1,
    [terms.shadow.tallies.minute]: 1,
  })
  const [minute, day] = [Math.floor(nowMs / minuteMs), Math.floor(nowMs / dayMs)]
  const counted = { key: caller.id, minute, count: 1 }
  t.strictSame(lines['timeline'], [
    { ...counted, code: 'rate_limit_exceeded', reason: 'minute', limit: 2, used: 2 },
    { ...counted, code: 'forbidden', reason: 'path', limit: 0, used: 0 },
  ])
  t.strictSame(lines['peaks'], [
    { quota: caller.quota, day, most: { minute: 2, day: 2 }, refused: { minute: 1 } },
  ])
  t.strictSame(
    [...meters.refusals],
    [
      ['free', 'rate_limit_exceeded minute', 1],
      ['free', 'forbidden', 1],
      ['none', 'missing_api_key', 1],
    ],
  )
  t.strictSame([...meters.near], [['free', 'minute', 3]])
  t.strictSame([...meters.shadows], [['free', 'minute', 1]])
  t.equal([...meter.answers].length, 4)
  t.strictSame(
    near.map(({ percent, crosses }) => [percent, crosses]),
    [[2, true]],
  )
  t.equal(recentRefusals.count, 4, 'refused and failed')
  liveCounts.sums.close()
  t.equal(liveCounts.refusedKeys.top(9, liveCounts.sums.second).length, 2)
})
