import type { Fault } from './fault.ts'

const counters = 'gateway/front/limits/counters.ts'
const state = 'gateway/front/limits/quota-state.ts'
const step = 'gateway/front/limits/step.ts'
const places = 'gateway/front/limits/places.ts'

/** Faults of the step, and of all that counts points in TypeScript. */
export const faultsOfTheStep: readonly Fault[] = [
  {
    name: 'a report is void after a ban or a lift',
    file: state,
    find: 'if (owed.generation >= (state.resetGeneration ?? 0)) {',
    replace: 'if (owed.generation >= state.generation) {',
    undoes: '769317ea',
  },
  {
    name: 'an adjustment brings no lost writes back',
    file: state,
    find: 'const healed = seen ? heal(state, seen, nowMs) : 0',
    replace: 'const healed = seen ? 0 : 0',
    undoes: '4a2feafc',
  },
  {
    name: 'what was admitted before a reset is adjusted after it',
    file: state,
    find: 'if (admission.generation >= (state.resetGeneration ?? 0)) {',
    replace: 'if (admission.generation >= 0) {',
    undoes: '4a2feafc',
  },
  {
    name: 'a report of before a reset counts in parts',
    file: state,
    find: '    settleParts(state, owed.parts, nowMs)\n  }\n',
    replace: '  }\n  settleParts(state, owed.parts, nowMs)\n',
    undoes: '769317ea',
  },
  {
    name: 'the points of an ended day are lost for the ledger',
    file: state,
    find: 'if (numberOf(state, dayWindow) !== day) leaveDay(state, day, points)',
    replace: 'if (numberOf(state, dayWindow) < day) leaveDay(state, day, points)',
  },
  {
    name: 'points that come back to the store aren’t metered',
    file: step,
    find: 'if (healed > 0 && !ask.prepaid) noteBeyond(state, state, healed, included)\n',
    replace: '',
    undoes: '769317ea',
  },
  {
    name: 'what was seen of parts before a reset counts',
    file: step,
    find: 'if (parts && ask.seen?.generation === state.generation) healParts(parts, ask.seen.parts)',
    replace: 'if (parts) healParts(parts, ask.seen?.parts)',
    undoes: '1c2f460b',
  },
  {
    name: 'grants are summed before counters are healed',
    file: step,
    find: '  const healed = ask.seen ? heal(state, ask.seen, nowMs, (conduct ??= newConduct())) : 0\n  const granted = state.grants && grantedIn(state.grants, state)\n',
    replace:
      '  const granted = state.grants && grantedIn(state.grants, state)\n  const healed = ask.seen ? heal(state, ask.seen, nowMs, (conduct ??= newConduct())) : 0\n',
    undoes: '1c2f460b',
  },
  {
    name: 'what a request has cost more counts in later windows, too',
    file: counters,
    find: '    if (points > 0 && !isRunning) counters.marks[at + 1] = (counters.marks[at + 1] ?? 0) + points\n',
    replace: '',
    undoes: '37bad9ee',
  },
  {
    name: 'a clock that is set back begins a window again',
    file: counters,
    find: 'return counted === number || counted === nextNumber(window, number)',
    replace: 'return counted === number',
  },
  {
    name: 'an answer that was overtaken lowers what is known of a day',
    file: counters,
    find: 'return countedInLong(counters) >= countedInLong(last)',
    replace:
      'const [month = dayWindow] = longWindows\n  return countedIn(counters, month) >= countedIn(last, month)',
    undoes: '99f8cd44',
  },
  {
    name: 'a month that begins forgets the weeks of parts',
    file: 'gateway/front/limits/quota-state.ts',
    find: 'if (areOver(counters, nowMs)) parts.delete(name)',
    replace: 'if (nowMs > 0 || areOver(counters, nowMs)) parts.delete(name)',
  },
  {
    name: 'a part is forgotten whose month a clock that is set back begins again',
    file: counters,
    find: 'numberAt(window, nowMs - dayMs, monthFrom)',
    replace: 'numberAt(window, nowMs, monthFrom)',
  },
  {
    name: 'a part doesn’t learn on which day months begin',
    file: 'gateway/front/limits/parts.ts',
    find: '  setMonthFrom(counters, state.monthFrom, nowMs)\n',
    replace: '',
    undoes: '99f8cd44',
  },
  {
    name: 'a report counts an hour that has ended in the next one',
    file: 'gateway/front/limits/recount.ts',
    find: 'if (first.number !== second.number) return first.number > second.number ? first : second',
    replace:
      'if (first.number !== second.number && first.number > second.number) return { ...first, counted: first.counted + second.counted }',
  },
  {
    name: 'points that were granted to a month come again two months later',
    file: 'shared/windows.ts',
    find: 'return [-2, -1, 0, 1, 2].map(',
    replace: 'return [-1, 0, 1, 2].map(',
    undoes: '655af67e',
  },
  {
    name: 'a gateway predicts beyond the end of a day',
    file: 'gateway/front/stores/redis/question-text.ts',
    find: 'if (isNewDay || !fits(next, needed, limits)) return undefined',
    replace: 'if ((isNewDay && needed < 0) || !fits(next, needed, limits)) return undefined',
  },
  {
    name: 'a late message about places is taken',
    file: places,
    find: '  if (number <= own.number) return\n',
    replace: '',
  },
  {
    name: 'a question that was given up takes a place',
    file: places,
    find: 'if (number > own.settled && !own.later.includes(number)) {',
    replace: 'if (!own.later.includes(number)) {',
  },
  {
    name: 'places of settled questions are counted twice',
    file: places,
    find: 'own.later = own.later.filter((each) => each > settled)',
    replace: 'own.later = own.later.slice()',
  },
]
