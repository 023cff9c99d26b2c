import { iso } from '../../../shared/times.ts'
import { ownLimits, quotaOf, type Key } from '../../front/keys/key.ts'
import { requireAlive } from '../../front/keys/may-change.ts'
import { KeyMistake } from '../../front/keys/mistake.ts'
import { keyNames } from '../../front/keys/names.ts'
import { requireText } from '../../front/keys/settings.ts'
import { countedParts } from '../../front/keys/terms.ts'
import { keyView, type KeyView } from '../../front/keys/view.ts'
import type { DeskOptions } from '../../front/keys/key-desk.ts'
import type { Noted } from '../../front/records/audit.ts'
import type { Stores } from '../../front/stores/stores.ts'
import { lookAtPlaces, type TakenPlaces } from '../../front/limits/places.ts'
import type { Ban } from '../../front/limits/store.ts'
import { setEnd } from '../../front/limits/ban-ends.ts'
import { banView } from '../../front/limits/views.ts'
import { causeOf } from './key-standing.ts'
import { keyStanding, type StandingFacts, type KeyStanding } from './key-standing.ts'
import { mostGrants, type NewGrant } from '../../front/limits/grants.ts'
import { limitsIn } from '../../front/limits/step.ts'
import type { NewTopUp, TopUp } from '../../front/limits/top-ups.ts'
import { withCommas } from '../../../shared/commas.ts'
import { noLimits } from '../../front/limits/limits.ts'
import { longestFirst, windows } from '../../../shared/windows.ts'
import { effectiveIncluded, effectiveLimits, effectivePrepaid } from '../../front/limits/plan.ts'

export type KeyDetails = KeyView & Readonly<{ standing: KeyStanding }>

/** A key by its name, with the state of its limits. */
export type QuotaView = Pick<Key, 'id' | 'name' | 'plan'> &
  KeyStanding &
  Readonly<{ underWay?: readonly UnderWayView[] }>

/** Requests of a gateway that are under way: of the quota itself, of an operation, or of a cap. */
export type UnderWayView = ReturnType<typeof underWayView>

function underWayView({ gateway, part, taken, sinceMs }: TakenPlaces) {
  const operation = part.startsWith('op:') ? { operation: part.slice(3) } : {}
  const cap = part.startsWith('cap:') ? { cap: true as const } : {}
  return { gateway, ...operation, ...cap, count: taken, since: iso(sinceMs) }
}

/** A top-up as operators are told of it. `again`: it was made before, and counts once. */
export type TopUpView = ReturnType<typeof topUpView> & Readonly<{ again: boolean }>

function topUpView({ id, points, atMs, left, by, note }: TopUp) {
  return { id, points, left, at: iso(atMs), by, note: note ?? null }
}

/** `audit` tells who banned a key, `lastUses` when it was used; `by` is the author of changes, which `noted` writes down. */
type QuotaDeskOptions = Pick<DeskOptions, 'plans' | 'clock'> &
  Pick<Stores, 'keys' | 'quota' | 'audit' | 'lastUses'> &
  Readonly<{ by: string; noted: Noted }>

/** The operations on bans and quotas, for the command line and the admin API. */
export class QuotaDesk {
  readonly #options: QuotaDeskOptions

  constructor(options: QuotaDeskOptions) {
    this.#options = options
  }

  /** The bans that run, in the order of their ends: of a caller with tokens of several accounts, the one that ends last. */
  async bans(): Promise<readonly (Ban & { name: string })[]> {
    const all = (await this.#options.quota.bans()).toSorted((a, b) => a.untilMs - b.untilMs)
    const bans = [...new Map(all.map((ban) => [ban.key, ban])).values()]
    const nameOf = await keyNames(
      this.#options.keys,
      bans.map(({ key }) => key),
    )
    return bans
      .map((ban) => ({ ...ban, name: nameOf(ban.key) }))
      .sort((a, b) => a.untilMs - b.untilMs)
  }

  /** The ends of running bans in milliseconds, by key. */
  async banEnds(): Promise<ReadonlyMap<string, number>> {
    return new Map((await this.#options.quota.bans()).map(({ key, untilMs }) => [key, untilMs]))
  }

  /** Bans a key for a time from now, in place of a ban that runs. The audit has the note. */
  async ban(id: string, forMs: number, note?: string): Promise<Ban & { name: string }> {
    if (note !== undefined) requireText('the note', note)
    const key = await this.#key(id)
    const untilMs = setEnd(this.#options.clock() + forMs)
    const ban = { key: id, name: key.name, quota: quotaOf(key), untilMs }
    const { quotas, before } = await this.#running(key)
    for (const quota of quotas) await this.#options.quota.ban(quota, id, untilMs)
    const after = { ...banView(ban), note }
    await this.#note('bans.set', id, before, after)
    return ban
  }

  async lift(id: string): Promise<void> {
    const { quotas, before } = await this.#running(await this.#key(id))
    let lifted = false
    for (const quota of quotas) lifted = (await this.#options.quota.lift(quota, id)) || lifted
    if (!lifted) throw new KeyMistake(`the key "${id}" isn’t banned`, 'not_found')
    await this.#note('bans.lift', id, before, null)
  }

  /** The ban of a key that runs, and the quotas that may have one: the key may have moved to another account since. */
  async #running(key: Key) {
    const running = (await this.#options.quota.bans()).filter((ban) => ban.key === key.id)
    const quotas = new Set([quotaOf(key), ...running.map(({ quota }) => quota)])
    return { quotas, before: running[0] ? banView(running[0]) : null }
  }

  /** The state of a key's limits, and whose requests are under way. */
  async show(id: string): Promise<QuotaView> {
    const key = await this.#key(id)
    const view = await this.#view(key)
    const taken = await this.#options.quota.places(quotaOf(key))
    return taken.length > 0 ? { ...view, underWay: taken.map(underWayView) } : view
  }

  /** Frees the places of a quota's requests under way; each gateway tells its own anew. */
  async freePlaces(id: string): Promise<void> {
    const quota = quotaOf(await this.#key(id))
    await this.#options.quota.freePlaces(quota)
    await this.#note('quota.places', id, null, { quota })
  }

  /** A key with the state of its limits: all that an operator sees of it. */
  async describe(key: Key): Promise<KeyDetails> {
    const facts = await this.#allFacts(key)
    const { bannedUntilMs } = facts.decision
    const beside = {
      bannedUntilMs: bannedUntilMs > 0 ? bannedUntilMs : undefined,
      inUse: { key, uses: (await this.#options.lastUses.of([key.id]))[0] },
    }
    const view = keyView(key, facts.decision.nowMs, beside)
    return { ...view, standing: keyStanding(key, facts) }
  }

  /** The state of a key's limits for a list: without the key, and without the cause of a ban, for which all of the audit is read. */
  async standing(key: Key): Promise<KeyStanding> {
    return keyStanding(key, { ...(await this.#facts(key)), cause: null })
  }

  /** Empties all windows of a key's quota, which may be an account's; returns the quota's name. */
  async reset(id: string): Promise<string> {
    const key = await this.#key(id)
    const quota = quotaOf(key)
    const before = await this.#view(key)
    await this.#options.quota.reset(quota)
    await this.#note('quota.reset', id, before, await this.#view(key))
    return quota
  }

  /**
   * Has the months of a key's quota, which may be an account's, begin on another day. A quota whose months begin then
   * already stays as it is: its month would begin anew.
   */
  async setMonthFrom(
    id: string,
    monthFrom: number,
  ): Promise<Readonly<{ isChanged: boolean; view: QuotaView }>> {
    const key = await this.#key(id)
    const quota = quotaOf(key)
    const before = (await this.#facts(key)).decision.seen.monthFrom
    const isChanged = monthFrom !== before
    if (isChanged) {
      await this.#options.quota.setMonthFrom(quota, monthFrom)
      await this.#note('quota.month', id, { quota, monthFrom: before }, { quota, monthFrom })
    }
    return { isChanged, view: await this.#view(key) }
  }

  /** Adds points to the present windows of a key's quota, which may be an account's. */
  async grant(id: string, points: Omit<NewGrant, 'by'>): Promise<QuotaView> {
    const key = await this.#key(id)
    const quota = quotaOf(key)
    const before = await this.#view(key)
    const granted = longestFirst.filter(({ limit }) => (points[limit] ?? 0) > 0)
    for (const { name, each } of granted) {
      if (before[name]) continue
      const why = before.offered ? `has no limit ${each}` : 'has no plan that is offered'
      throw new KeyMistake(`“${key.name}” ${why}: there is nothing to add to`)
    }
    if (!(await this.#options.quota.grant(quota, { ...points, by: this.#options.by }))) {
      const most = `${mostGrants} grants to it that hold still, which is all that are kept`
      throw new KeyMistake(`there are ${most}; give it limits of its own instead`, 'conflict')
    }
    const after = await this.#view(key)
    const [longest] = granted
    const until = iso(((longest && after[longest.name]?.reset) ?? 0) * 1_000)
    const shown = windows.filter((window) => window.isRequired || granted.includes(window))
    const pointsByLimit = Object.fromEntries(
      shown.map(({ limit }) => [limit, points[limit] || null]),
    )
    await this.#note('quota.grant', id, null, { quota, ...pointsByLimit, note: points.note, until })
    return after
  }

  /** Adds bought points to a key's quota, which may be an account's, or takes some that are left. Each id counts once. */
  async topUp(key: Key, given: Omit<NewTopUp, 'by'>): Promise<TopUpView> {
    const { id, points, note } = given
    if (note !== undefined) requireText('the note', note)
    requireAlive(key)
    const { decision } = await this.#facts(key)
    if (!decision.purse) {
      const why = 'has no window that is prepaid: there is nothing to top up'
      throw new KeyMistake(`“${key.name}” ${why}`, 'conflict')
    }
    const quota = quotaOf(key)
    const done = await this.#options.quota.topUp(quota, { ...given, by: this.#options.by })
    if (done.outcome === 'short') {
      const sentence = `fewer than ${withCommas(-points)} bought points are left: ${withCommas(done.left)}`
      throw new KeyMistake(sentence, 'conflict')
    }
    const { topUp } = done
    if (done.outcome === 'other') {
      const sentence = `“${id}” was a top-up of ${withCommas(topUp.points)} points: give this one another id`
      throw new KeyMistake(sentence, 'conflict')
    }
    const isAgain = done.outcome === 'again'
    if (!isAgain) {
      const { left } = topUp
      const before = { quota, left: left - points }
      await this.#note('quota.top-up', key.id, before, { quota, id, points, left, note })
    }
    return { ...topUpView(topUp), again: isAgain }
  }

  /** What was bought for a key's quota, the newest first. */
  async topUps(key: Key): Promise<readonly Omit<TopUpView, 'again'>[]> {
    const all = await this.#options.quota.topUps(quotaOf(key))
    return all.toReversed().map(topUpView)
  }

  /** Writes a change of a key to the audit. */
  #note(what: string, subject: string, before: unknown, after: unknown): Promise<void> {
    return this.#options.noted({ what, subject, before, after })
  }

  async #view(key: Key): Promise<QuotaView> {
    const { id, name } = key
    const facts = await this.#allFacts(key)
    const { plan } = key
    return { id, name, plan, ...keyStanding(key, facts) }
  }

  async #allFacts(key: Key): Promise<StandingFacts> {
    const facts = await this.#facts(key)
    const isBanned = facts.decision.bannedUntilMs > 0
    return { ...facts, cause: isBanned ? await causeOf(this.#options.audit, key.id) : null }
  }

  async #facts(key: Key): Promise<Omit<StandingFacts, 'cause'>> {
    const plan = this.#options.plans.get(key.plan)
    const own = ownLimits(key)
    const offer = plan && effectiveLimits(plan, own)
    const decision = await this.#options.quota.decide(quotaOf(key), {
      key: key.id,
      cost: 0,
      limits: offer ?? noLimits,
      included: plan && effectiveIncluded(plan, own),
      prepaid: plan && effectivePrepaid(plan, own),
      parts: plan && countedParts(plan, key).allParts,
      place: lookAtPlaces,
    })
    const limits = limitsIn(decision, offer ?? noLimits)
    const grants = decision.granted ? await this.#options.quota.grants(quotaOf(key)) : []
    return { decision, limits, grants, isOffered: offer !== undefined }
  }

  async #key(id: string): Promise<Key> {
    const stored = await this.#options.keys.get(id)
    if (!stored) throw new KeyMistake(`there is no key with the id "${id}"`, 'not_found')
    return stored.key
  }
}
