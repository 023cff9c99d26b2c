import type { Clock } from '../../../shared/clock.ts'
import { noterFor } from '../../front/records/audit.ts'
import type { Config } from '../../front/config/config.ts'
import { KeyDesk } from '../../front/keys/key-desk.ts'
import { QuotaDesk } from './quota-desk.ts'
import { SwapDesk } from './swap-desk.ts'
import type { Stores } from '../../front/stores/stores.ts'

type DesksOptions = Pick<Config, 'plans' | 'upstreams'> &
  Readonly<{
    stores: Stores
    clock: Clock
    /** The author of changes, for the audit. */
    by: string
  }>

export type Desks = ReturnType<typeof desksFor>

/** The operations on keys, bans and quotas, for the command line and the admin API alike. */
export function desksFor({ stores, plans, upstreams, clock, by }: DesksOptions) {
  const { keys, quota, audit, lastUses } = stores
  const noted = noterFor(audit, by, clock)
  return {
    keys: new KeyDesk({ store: keys, plans, clock, quota, noted }),
    quotas: new QuotaDesk({ keys, quota, plans, clock, noted, by, audit, lastUses }),
    swaps: new SwapDesk({ store: stores.swaps, upstreams, noted, by }),
  }
}
