import type { FleetStore } from './fleet/store.ts'
import { Tunnels } from './forwarding/tunnels.ts'
import { Issuers } from './jwt/issuers.ts'
import { KeyDirectory } from './keys/directory.ts'
import { OutsideCallers } from './keys/outside-callers.ts'
import { copyBan } from './keys/move-ban.ts'
import { OutsideRecords } from './keys/outside-records.ts'
import type { Asker } from './limits/cached-refusals.ts'
import { Quotas } from './limits/quotas.ts'
import { Strangers } from './limits/strangers.ts'
import type { Opening } from './opening.ts'
import { noterFor } from './records/audit.ts'
import { EarnedBans } from './records/earned-bans.ts'

/** Opens all that knows callers, with what they have used up, and the tunnels that end with them. */
export function openCallers(opening: Opening) {
  const { config, stores, meters, member, clock, log, closers } = opening
  const records = outsideRecords(opening)
  const directory = openDirectory(opening, records)
  const { outsideCallers, issuers } = openOutside(opening, directory, records)
  const tunnels = new Tunnels({
    directory,
    quotas: { isBanned: (caller) => quotas.isBanned(caller) },
    clock,
  })
  closers.add(() => tunnels.close())
  const { whenUnreachable } = config.store
  const quotas: Quotas = new Quotas({
    banned: ({ key, quota }) => {
      tunnels.end(key)
      spreadBan({ id: key, quota })
    },
    store: stores.quota,
    gateways: () => stores.fleet.size,
    gateway: nameForPlaces(member().id),
    goneOf: (gateways) => goneOf(stores.fleet, gateways),
    whenUnreachable,
    clock,
    meters,
    trouble: quotaTrouble(opening),
  })
  closers.add(() => quotas.close())
  const strangers = new Strangers({
    limits: config.strangers,
    clock,
    store: stores.strangers,
    onRefused: (code) => meters.strangers.add(code, ''),
  })
  closers.add(() => strangers.close())
  const earnedBans = new EarnedBans({
    store: stores.audit,
    clock,
    missing: (key, err) => log.error({ key, err }, 'a ban is missing in the audit'),
  })
  closers.add(() => earnedBans.close())
  /** Has a ban hold for the tokens of other accounts that are in memory, too. */
  const spreadBan = ({ id, quota }: Asker): void => {
    for (const other of directory.outsideQuotasOf(id)) {
      copyBan(stores.quota, id, quota, other).catch((err: unknown) =>
        log.error({ key: id, err }, 'a ban doesn’t hold for all tokens'),
      )
    }
  }
  return { directory, outsideCallers, issuers, tunnels, quotas, strangers, earnedBans, spreadBan }
}

/** The name by which a quota knows whose requests are under way: the end of the gateway's id, which is as random as all of it. */
function nameForPlaces(id: string): string {
  return id.slice(-12)
}

/** Which of some gateways are gone: they aren't in the fleet any more. */
async function goneOf(fleet: FleetStore, gateways: readonly string[]): Promise<readonly string[]> {
  const { members, silent } = await fleet.list()
  // A gateway of another version may be one of them.
  if (silent > 0) return []
  const present = new Set(members.map(({ id }) => nameForPlaces(id)))
  return gateways.filter((gateway) => !present.has(gateway))
}

function openDirectory(
  { config, stores, meters, listening, trouble, clock, closers }: Opening,
  records: OutsideRecords,
): KeyDirectory {
  const directory = new KeyDirectory({
    store: stores.keys,
    cacheSize: config.keys.cache,
    clock,
    meters,
    trouble: trouble(
      'the key store is out of reach; cached keys still work',
      'the key store answers again',
    ),
    changed: (keys) => records.note(keys),
    emptied: (epoch) => {
      meters.emptiedStores++
      listening.by?.storeEmptied(epoch)
    },
  })
  closers.add(() => directory.close())
  return directory
}

function outsideRecords({ stores, clock, log, closers }: Opening): OutsideRecords {
  const records = new OutsideRecords({
    store: stores.keys,
    noted: noterFor(stores.audit, 'gateway', clock),
    clock,
    untold: (err) => log.error({ err }, 'a number of new callers is missing in the audit'),
  })
  closers.add(() => records.close())
  return records
}

/** Opens those whose keys are known elsewhere, and who vouches for them. */
function openOutside(opening: Opening, directory: KeyDirectory, records: OutsideRecords) {
  const { stores, meters, clock, log, closers } = opening
  const outsideCallers = new OutsideCallers({
    store: stores.keys,
    quota: stores.quota,
    directory,
    records,
    clock,
    outdated: (key, err) => log.error({ key, err }, 'the record of a caller is not up to date'),
  })
  const denied = (reason: string): void => meters.jwtRefusals.add(reason, '')
  const issuers = new Issuers({
    ...{ callers: outsideCallers, records, clock, log, denied },
    planned: (issuer, by) => meters.jwtPlans.add(issuer, by),
  })
  closers.add(() => issuers.close())
  return { outsideCallers, issuers }
}

function quotaTrouble({ config, stores, trouble }: Opening): ReturnType<Opening['trouble']> {
  if (stores.quota.isLocal) {
    return trouble(
      'counters can’t be written down; they go on in memory',
      'counters are written down again',
    )
  }
  return trouble(
    `the quota store is out of reach; until it is back: ${config.store.whenUnreachable}`,
    'the quota store answers again',
  )
}
