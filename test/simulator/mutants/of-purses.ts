import type { Fault } from './fault.ts'

const purse = 'gateway/front/limits/purse.ts'
const offline = 'gateway/front/limits/offline-limiter.ts'
const unsettled = 'gateway/front/limits/unsettled-usage.ts'
const scripts = 'gateway/front/stores/redis'

/** Faults of points that were bought in advance. */
export const faultsOfPurses: readonly Fault[] = [
  {
    name: 'bought points are taken before included ones',
    file: purse,
    find: 'const took = Math.max(0, cost - room)\n',
    replace:
      'const took = Math.max(0, cost - room, Math.min(cost, leftIn(state.purse ?? newPurse())))\n',
  },
  {
    name: 'a reset empties the purse',
    file: 'gateway/front/limits/quota-state.ts',
    find: '  empty(state)\n  state.parts = undefined\n}\n',
    replace: '  empty(state)\n  state.parts = undefined\n  state.purse = undefined\n}\n',
  },
  {
    name: 'bought points that come back after their window are lost',
    file: purse,
    find: 'takenIn(taken, state, window) : admitted.took\n',
    replace: 'takenIn(taken, state, window) : 0\n',
  },
  {
    name: 'what was bought in a former window counts in this one',
    file: purse,
    find: 'return taken && numberOf(taken, window) === numberOf(counters, window) ? ',
    replace: 'return taken ? ',
    undoes: '71c4766d',
  },
  {
    name: 'without the store, a gateway takes the whole purse',
    file: offline,
    find: '{ ...base, purse: shareOfPurse(base.purse, last.gateways) }',
    replace: 'base',
    undoes: '71c4766d',
  },
  {
    name: 'a report tells no bought points',
    file: unsettled,
    find: '  if (purse) ofParts.set(takenPart,',
    replace: '  if (purse && bought < 0) ofParts.set(takenPart,',
  },
  {
    name: 'a report’s bought points are taken twice',
    file: purse,
    find: '  pay(state, countedIn(taken, dayWindow))\n',
    replace: '  pay(state, 2 * countedIn(taken, dayWindow))\n',
  },
  {
    name: 'a gateway forgets what a purse had',
    file: 'gateway/front/limits/last-seen.ts',
    find: '  if (purse) rememberPurse(present, seen, purse, purse.taken)\n',
    replace: '',
  },
  {
    name: 'a purse isn’t healed',
    file: purse,
    find: '  purse.spent = Math.max(purse.spent, seen.spent)\n',
    replace: '',
  },
  {
    name: 'a top-up that is sent again counts again',
    file: 'gateway/front/limits/top-ups.ts',
    find: '  if (before) return',
    replace: '  if (before && points < 0) return',
  },
  {
    name: 'a script’s top-up that is sent again counts again',
    file: `${scripts}/quota-edit.lua`,
    find: 'if other == id then return',
    replace: 'if other == id and points < 0 then return',
  },
  {
    name: 'a script adds a report to a purse that lacks lost writes',
    file: `${scripts}/decide-purse.lua`,
    find: 'purseOf(hash, counters, seen, seenTaken, isSeenOld)',
    replace: "purseOf(hash, counters, '', '', isSeenOld)",
  },
  {
    name: 'a script’s top-up that is refused counts the ended day twice',
    file: `${scripts}/quota-edit.lua`,
    find: '    keepPast(day, points)\n    keep()\n',
    replace: '    keepPast(day, points)\n',
    undoes: '71c4766d',
  },
  {
    name: 'a script’s purse pays nothing back',
    file: `${scripts}/purse.lua`,
    find: 'else purse.bought = purse.bought - points end',
    replace: 'else purse.bought = purse.bought + 0 end',
  },
]
