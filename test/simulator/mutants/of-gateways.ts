import type { Fault } from './fault.ts'

const quotas = 'gateway/front/limits/quotas.ts'
const adjustments = 'gateway/front/limits/adjustments.ts'
const offline = 'gateway/front/limits/offline-limiter.ts'
const unsettled = 'gateway/front/limits/unsettled-usage.ts'
const lastSeen = 'gateway/front/limits/last-seen.ts'
const cached = 'gateway/front/limits/cached-refusals.ts'
const ownPlaces = 'gateway/front/limits/own-places.ts'
const placeReports = 'gateway/front/limits/place-reports.ts'
const fleet = 'gateway/front/limits/fleet-counts.ts'

/** Faults of what a gateway does. */
export const faultsOfGateways: readonly Fault[] = [
  {
    name: 'the answer to a report is forgotten',
    file: quotas,
    find: 'this.#remember(quota, await this.#store.decide(quota, ask))',
    replace: 'await this.#store.decide(quota, ask)',
    undoes: '99f8cd44',
  },
  {
    name: 'an adjustment’s answer replaces later counters',
    file: quotas,
    find: 'if (seen && areLater(present, seen)) takeOver(seen, present)',
    replace: 'if (seen) takeOver(seen, present)',
    undoes: '9f6b2d59',
  },
  {
    name: 'an adjustment has no number',
    file: quotas,
    find: 'const admission = { counters, parts, seen, included, purse, numbered }',
    replace:
      'const admission = { counters, parts, seen, included, purse, numbered: undefined && numbered }',
    undoes: '101c0c29',
  },
  {
    name: 'what the store has let in too late stays counted',
    file: quotas,
    find: "    if (decision.verdict !== 'admitted') return\n    const points",
    replace: '    if (decision.nowMs > 0) return\n    const points',
  },
  {
    name: 'what came too late makes room for a gateway alone',
    file: unsettled,
    find: 'const bought = adjustment.isLate\n',
    replace: 'const bought = adjustment.points > 0\n',
  },
  {
    name: 'a request that was let in uncounted is adjusted',
    file: quotas,
    find: 'if (adjustment.points === 0 || decision.isUncounted) return',
    replace: 'if (adjustment.points === 0) return',
    undoes: '4a2feafc',
  },
  {
    name: 'a report without an answer is taken for counted',
    file: quotas,
    find: 'if (owed) usage?.endReport(false)',
    replace: 'if (owed) usage?.endReport(true)',
  },
  {
    name: 'a gateway takes its own number for the first that it repeats',
    file: adjustments,
    find: 'const [from = one.number] = this.#open.get(one.quota)?.keys() ?? []',
    replace: 'const from = one.number',
  },
  {
    name: 'an adjustment is repeated once',
    file: adjustments,
    find: 'if ((await this.#tell(one)) !== undefined && !this.#keep(one)) this.#end(one)',
    replace: 'if ((await this.#tell(one)) !== undefined) this.#end(one)',
  },
  {
    name: 'an adjustment that wasn’t sent is taken for made',
    file: adjustments,
    find: 'if (!(failure instanceof StoreNotAsked) && this.#keep(one)) return',
    replace: 'if (failure instanceof StoreNotAsked || this.#keep(one)) return',
  },
  {
    name: 'without the store, the whole limit is shared, not what is left of it',
    file: offline,
    find: 'used + Math.ceil((limit - used) / gateways)',
    replace: 'used + Math.ceil(limit / gateways)',
    undoes: 'e0d4dc34',
  },
  {
    name: 'a repeated report has another number',
    file: unsettled,
    find: 'if (isAcknowledged) this.#report = undefined',
    replace:
      'if (isAcknowledged) this.#report = undefined\n    else if (this.#report) this.#report = { ...this.#report, number: ++this.#reporter.reports }',
  },
  {
    name: 'one report is of plans that include different points',
    file: unsettled,
    find: 'return windows.every((window) => limitOf(included, window) === limitOf(others, window))',
    replace: 'return included !== undefined && others !== undefined',
    undoes: '769317ea',
  },
  {
    name: 'an adjustment turns a gateway’s clock back',
    file: unsettled,
    find: 'Math.max(decision.nowMs, beginningOf(this.state))',
    replace: 'Math.min(decision.nowMs, Math.max(decision.nowMs, beginningOf(this.state)))',
    undoes: 'f6a4302c',
  },
  {
    name: 'what is left changes while a gateway decides alone',
    file: unsettled,
    find: 'this.base = base && {\n      ...copyOf(base),\n      bannedUntilMs: base.bannedUntilMs,\n      parts: copiesOf(base.parts),\n      purse: base.purse && { ...base.purse },\n    }',
    replace: 'this.base = base',
  },
  {
    name: 'usage is forgotten before it is reported',
    file: offline,
    find: 'if (usage.isSettled && this.usageOf(quota) === usage)',
    replace: 'if (this.usageOf(quota) === usage)',
  },
  {
    name: 'two questions carry one report',
    file: unsettled,
    find: 'if (this.#isReporting) return undefined\n',
    replace: '',
  },
  {
    name: 'an earlier answer replaces a later one',
    file: lastSeen,
    find: 'if (last && areLater(seen, last)) {',
    replace: 'if (last) {',
  },
  {
    name: 'what was seen of parts outlives a reset',
    file: lastSeen,
    find: 'if (counters.generation > last.generation) last.parts = undefined\n',
    replace: '',
  },
  {
    name: 'a full window is remembered until it ends',
    file: cached,
    find: 'if (refused.nowMs <= since) return undefined\n',
    replace: '',
    undoes: '9a558f33',
  },
  {
    name: 'a full window is remembered beyond its end',
    file: cached,
    find: '    if (nowMs + lagMs >= endOf(full.counters, full.window)) return undefined\n',
    replace: '',
  },
  {
    name: 'strangers that couldn’t be told are forgotten',
    file: fleet,
    find: 'if (sum === undefined) from.points += points\n  else if',
    replace: 'if (sum === undefined) from.points += 0\n  else if',
  },
  {
    name: 'a gateway doesn’t learn what strangers send to others',
    file: fleet,
    find: 'raiseTo(quota, window, sum + from.points)',
    replace: 'raiseTo(quota, window, from.points)',
  },
  {
    name: 'an outage ends for nobody',
    file: 'gateway/front/stores/breaker.ts',
    find: 'if (this.#passed < enoughProbes) return this.#plan()',
    replace: 'if (this.#passed < enoughProbes || this.#failures > 0) return this.#plan()',
  },
  {
    name: 'places are told without those of open questions',
    file: 'gateway/front/limits/place.ts',
    find: '  for (const oldest of own.open) return oldest - 1\n',
    replace: '',
  },
  {
    name: 'the place of a question without an answer isn’t given back',
    file: ownPlaces,
    find: '    this.#reports.note(this.#of(question.quota), namesOf(question.parts))\n',
    replace: '',
  },
  {
    name: 'places that were given back aren’t told again after a fail-over',
    file: ownPlaces,
    find: 'this.#reports.note(this.#of(quota), [...names])',
    replace:
      'this.#reports.note(this.#of(quota), [...(this.#quotas.get(quota)?.held.keys() ?? [])])',
  },
  {
    name: 'a report of places that failed isn’t made again',
    file: placeReports,
    find: 'else for (const name of names) own.untold.add(name)',
    replace: 'else own.untold.clear()',
  },
]
