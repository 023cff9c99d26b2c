import type { Test } from 'tap'
import type { RedisSettings } from '../../gateway/front/config/config.ts'
import { peaksOn } from '../../gateway/front/counts/peak-store.ts'
import { talliesOn } from '../../gateway/front/counts/tally-store.ts'
import { auditOn } from '../../gateway/front/records/audit-list.ts'
import { redisCounts } from '../../gateway/front/stores/redis/counts.ts'
import { redisLists } from '../../gateway/front/stores/redis/lists.ts'
import { noticesOn } from '../../gateway/front/records/notices-on.ts'
import { redisDocuments } from '../../gateway/front/stores/redis/documents.ts'
import { redisRefusals } from '../../gateway/front/stores/redis/refusals.ts'
import {
  fleetViews,
  keyViews,
  lastUseViews,
  ledgerViews,
  movableQuotas,
  twoViews,
} from '../support/redis-stores.ts'
import { auditStoreContract } from './audit.ts'
import { fleetStoreContract, type MovableFleet } from './fleet.ts'
import { keyStoreContract } from './keys.ts'
import { lastUseStoreContract } from './last-uses.ts'
import { ledgerContract } from './ledger.ts'
import { mostOfTest, noticeStoreContract } from './notices.ts'
import { peakStoreContract } from './peaks.ts'
import { quotaStoreContract } from './quota.ts'
import { refusalStoreContract } from './refusals.ts'
import { tallyStoreContract } from './tallies.ts'

const timeoutMs = 2_000

/** The contracts of keys and quotas in a Redis: those that every way to find one is tried with. */
export function mainContractsInRedis(t: Test, name: string, settings: RedisSettings): void {
  // A quota's decision is one script, whose stories a single server runs in full.
  const stories = 'url' in settings ? 60 : 20
  void keyStoreContract(t, name, (t) => keyViews(t, settings))
  void quotaStoreContract(t, name, (t) => movableQuotas(t, settings), { stories })
}

/** The contracts of all stores of a gateway, in one Redis, where each has names of its own. */
export function contractsInRedis(t: Test, name: string, settings: RedisSettings): void {
  mainContractsInRedis(t, name, settings)
  void lastUseStoreContract(t, name, (t) => lastUseViews(t, settings))
  void ledgerContract(t, name, (t) => ledgerViews(t, settings))
  void fleetStoreContract(t, name, (t) => movableFleet(t, settings))
  void auditStoreContract(t, name, (t) =>
    twoViews(t, settings, (connection) =>
      auditOn(redisLists({ connection, prefix: 'audit:', timeoutMs })),
    ),
  )
  void tallyStoreContract(t, name, (t) =>
    twoViews(t, settings, (connection) =>
      talliesOn(redisCounts({ connection, prefix: 'tallies:', timeoutMs })),
    ),
  )
  void peakStoreContract(t, name, (t) =>
    twoViews(t, settings, (connection) =>
      peaksOn(redisCounts({ connection, prefix: 'peaks:', timeoutMs })),
    ),
  )
  void refusalStoreContract(t, name, (t) =>
    twoViews(t, settings, (connection) =>
      redisRefusals({ connection, prefix: 'refusals:', timeoutMs }),
    ),
  )
  void noticeStoreContract(t, name, (t, testClock) =>
    twoViews(t, settings, (connection) => {
      const options = { connection, prefix: 'notices:', timeoutMs: 5_000, testClock }
      return noticesOn(redisLists(options), redisDocuments(options), testClock, mostOfTest)
    }),
  )
}

async function movableFleet(t: Test, settings: RedisSettings): Promise<MovableFleet> {
  const { fleets, setTime } = await fleetViews(t, settings, 1)
  const [fleet] = fleets
  if (!fleet) throw new Error('one was asked for')
  return { fleet, beat: () => fleet.beat(), setTime }
}
