import type { Invariant } from '../moment.ts'
import { atMostItsPart } from './at-most-its-part.ts'
import { atMostTheLimit } from './at-most-the-limit.ts'
import { bannedWhileBanned } from './banned-while-banned.ts'
import { countersAreTheBooks } from './counters-are-the-books.ts'
import { ledgerIsTheBooks } from './ledger-is-the-books.ts'
import { purseIsTheBooks } from './the-purse-is-the-books.ts'
import { placesAreRequests } from './places-are-requests.ts'
import { remembersWhatIsFull } from './remembers-what-is-full.ts'
import { roomIsGiven } from './room-is-given.ts'
import { strangersAreKnown } from './strangers-are-known.ts'
import { strangersAreTold } from './strangers-are-told.ts'
import { tellsWhatItKnows } from './tells-what-it-knows.ts'
import { toldInTheEnd } from './told-in-the-end.ts'
import { windowsOfTheirTime } from './windows-of-their-time.ts'

/** All laws, in the order in which they are looked at. */
export const allInvariants: readonly Invariant[] = [
  windowsOfTheirTime,
  atMostTheLimit,
  roomIsGiven,
  countersAreTheBooks,
  ledgerIsTheBooks,
  purseIsTheBooks,
  tellsWhatItKnows,
  atMostItsPart,
  remembersWhatIsFull,
  placesAreRequests,
  bannedWhileBanned,
  toldInTheEnd,
  strangersAreTold,
  strangersAreKnown,
]
