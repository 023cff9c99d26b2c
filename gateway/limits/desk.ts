import type { Clock } from '../../shared/clock.ts'
import type { Noted } from '../records/audit.ts'
import { quotaOf, type Key } from '../keys/key.ts'
import { KeyMistake } from '../keys/mistake.ts'
import { keyNames } from '../keys/names.ts'
import type { KeyStore } from '../stores/keys.ts'
import type { Ban, QuotaStore } from '../stores/quota.ts'
import { banView, standingView } from '../views.ts'
import { effectiveLimits, type Limits, type Plan } from './limits.ts'

/** A key, whose quota it draws on, and how that stands. */
export type QuotaView = { id: string; quota: string } & ReturnType<typeof standingView>

/** For a key whose plan is not in the configuration any more: what it has used is still told. */
const noLimits: Limits = { perMinute: Infinity, perDay: Infinity }

export type QuotaDeskOptions = Readonly<{
  keys: KeyStore
  quota: QuotaStore
  plans: ReadonlyMap<string, Plan>
  clock: Clock
  /** Writes down what is changed. */
  noted?: Noted
}>

/** What operators do with bans and quotas: the command line and the admin API both ask here. */
export class QuotaDesk {
  readonly #keys: KeyStore
  readonly #quota: QuotaStore
  readonly #plans: ReadonlyMap<string, Plan>
  readonly #clock: Clock
  readonly #noted: Noted | undefined

  constructor({ keys, quota, plans, clock, noted }: QuotaDeskOptions) {
    this.#plans = plans
    this.#noted = noted
    this.#keys = keys
    this.#quota = quota
    this.#clock = clock
  }

  /** The bans that run, those that end first first. */
  async bans(): Promise<readonly (Ban & { name: string })[]> {
    const bans = await this.#quota.bans()
    const nameOf = await keyNames(
      this.#keys,
      bans.map(({ key }) => key),
    )
    return bans
      .map((ban) => ({ ...ban, name: nameOf(ban.key) }))
      .sort((a, b) => a.untilMs - b.untilMs)
  }

  /** Bans a key for a time from now, in place of a ban that runs. */
  async ban(id: string, forMs: number): Promise<Ban & { name: string }> {
    const key = await this.#key(id)
    const ban = { key: id, name: key.name, quota: quotaOf(key), untilMs: this.#clock() + forMs }
    const before = (await this.#quota.bans()).find((each) => each.key === id)
    await this.#quota.ban(ban.quota, id, ban.untilMs)
    await this.#noted?.({
      what: 'bans.set',
      subject: id,
      before: before ? banView(before) : null,
      after: banView(ban),
    })
    return ban
  }

  async lift(id: string): Promise<void> {
    // Where the ban was counted: the key may have been moved to another account since.
    const running = (await this.#quota.bans()).filter(({ key }) => key === id)
    const quotas = new Set([quotaOf(await this.#key(id)), ...running.map(({ quota }) => quota)])
    let lifted = false
    for (const quota of quotas) lifted = (await this.#quota.lift(quota, id)) || lifted
    if (!lifted) throw new KeyMistake(`no ban of the key "${id}" runs`, 'not_found')
    const [before] = running
    await this.#noted?.({
      what: 'bans.lift',
      subject: id,
      before: before ? banView(before) : null,
      after: null,
    })
  }

  /** Where a key stands with its limits. */
  async show(id: string): Promise<QuotaView> {
    return this.#view(await this.#key(id))
  }

  /** Empties minute and day of a key, or of the account that it shares them with. */
  async reset(id: string): Promise<string> {
    const key = await this.#key(id)
    const quota = quotaOf(key)
    const before = await this.#view(key)
    await this.#quota.reset(quota)
    await this.#noted?.({ what: 'quota.reset', subject: id, before, after: await this.#view(key) })
    return quota
  }

  async #view(key: Key): Promise<QuotaView> {
    const plan = this.#plans.get(key.plan)
    const limits = (plan && effectiveLimits(plan, key.limits)) ?? noLimits
    const quota = quotaOf(key)
    const decision = await this.#quota.decide(quota, { key: key.id, cost: 0, limits })
    return { id: key.id, quota, ...standingView(key.plan, { decision, limits }) }
  }

  async #key(id: string): Promise<Key> {
    const stored = await this.#keys.get(id)
    if (!stored) throw new KeyMistake(`there is no key with the id "${id}"`, 'not_found')
    return stored.key
  }
}
