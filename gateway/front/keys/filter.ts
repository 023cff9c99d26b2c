import type { Key, KeyState } from './key.ts'
import {
  accountPart,
  fits,
  folded,
  lineOf,
  planPart,
  referencePart,
  stateLetters,
  statePart,
} from './line.ts'
import type { LineFilter } from './line.ts'

/** The keys to list. An absent member filters nothing, except that revoked keys are left out. */
export type KeyFilter = Readonly<{
  /** In upper or lower case: a part of the name, the account, the note or the reference, or the beginning of the id. */
  search?: string | undefined
  /** A part of the name, in upper or lower case. */
  name?: string | undefined
  plan?: string | undefined
  account?: string | undefined
  reference?: string | undefined
  state?: KeyState | undefined
  /** Whether revoked keys are listed too, if no state is named. */
  all?: boolean | undefined
}>

/** The conditions for the lines of wanted keys. Accounts in another case meet them, too: `isWanted` decides. */
export function lineFilterOf(filter: KeyFilter, nowMs: number): LineFilter {
  const { search = '', name = '', plan, account, reference, state, all = false } = filter
  const { revoked, ...others } = stateLetters
  const letters = Object.values(others).join('') + (all ? revoked : '')
  return {
    search: folded(search),
    name: folded(name),
    parts: [
      ...(account === undefined ? [] : [accountPart(account)]),
      ...(reference === undefined ? [] : [referencePart(reference)]),
      ...(plan === undefined ? [] : [planPart(plan)]),
      ...(state === undefined ? [] : [statePart(state)]),
    ],
    states: state === undefined ? letters : stateLetters[state],
    nowMs,
  }
}

/** Gives the test whether a key is wanted at a time. */
export function wantedBy(filter: KeyFilter, nowMs: number): (key: Key) => boolean {
  const { plan, account, reference } = filter
  const line = lineFilterOf(filter, nowMs)
  return (key) =>
    (plan ?? key.plan) === key.plan &&
    (account ?? key.account) === key.account &&
    (reference ?? key.reference) === key.reference &&
    fits(lineOf(key), line)
}
