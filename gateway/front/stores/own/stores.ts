import type { Clock } from '../../../../shared/clock.ts'
import { fleetOn } from '../../fleet/shared-fleet.ts'
import { recordsOn, type Shelves } from '../records.ts'
import type { Stores } from '../stores.ts'
import { lastUsesOn } from './last-uses.ts'
import { refusalsOn } from './refusals.ts'

/** Stores of an app's own. The app closes them, after Tollgate. */
export type OwnStores = Shelves &
  Pick<Stores, 'keys' | 'strangers'> &
  Pick<Stores, 'warnings' | 'ready' | 'waitsFor' | 'close'> &
  Readonly<{ quotas: Stores['quota'] }>

const shelfNames = ['keys', 'quotas', 'counts', 'lists', 'documents', 'messages'] as const

/** All stores of a gateway, on the shelves of an app's own; those that `openStores` has opened as they are. */
export function storesOn(own: OwnStores | Stores, clock: Clock): Stores {
  if ('fleet' in own) return own
  const lacking = shelfNames.find((name) => typeof own[name] !== 'object')
  if (lacking !== undefined) throw new TypeError(`Tollgate’s option "stores" lacks "${lacking}"`)
  const { quotas: quota, counts, documents } = own
  return {
    ...own,
    ...recordsOn(own, clock),
    quota,
    lastUses: lastUsesOn(counts, documents),
    refusals: refusalsOn(documents),
    fleet: fleetOn(documents, clock),
    get warnings() {
      return own.warnings
    },
    ready: () => own.ready(),
    waitsFor: (error) => own.waitsFor(error),
    leftBehind: () => Promise.resolve(undefined),
    close: () => own.close(),
  }
}
