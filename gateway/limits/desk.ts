import type { Clock } from '../../shared/clock.ts'
import { quotaOf, type Key } from '../keys/key.ts'
import { KeyMistake } from '../keys/mistake.ts'
import type { KeyStore } from '../stores/keys.ts'
import type { Ban, QuotaStore } from '../stores/quota.ts'

export type QuotaDeskOptions = Readonly<{ keys: KeyStore; quota: QuotaStore; clock: Clock }>

/** What operators do with bans and quotas: the command line and the admin API both ask here. */
export class QuotaDesk {
  readonly #keys: KeyStore
  readonly #quota: QuotaStore
  readonly #clock: Clock

  constructor({ keys, quota, clock }: QuotaDeskOptions) {
    this.#keys = keys
    this.#quota = quota
    this.#clock = clock
  }

  /** The bans that run, those that end first first. */
  async bans(): Promise<readonly (Ban & { name: string })[]> {
    const bans = await this.#quota.bans()
    const named = bans.map(async (ban) => {
      const stored = await this.#keys.get(ban.key)
      return { ...ban, name: stored?.key.name ?? '' }
    })
    return (await Promise.all(named)).sort((a, b) => a.untilMs - b.untilMs)
  }

  /** Bans a key for a time from now, in place of a ban that runs. */
  async ban(id: string, forMs: number): Promise<Ban> {
    const key = await this.#key(id)
    const ban = { key: id, quota: quotaOf(key), untilMs: this.#clock() + forMs }
    await this.#quota.ban(ban.quota, id, ban.untilMs)
    return ban
  }

  async lift(id: string): Promise<void> {
    // Where the ban was counted: the key may have been moved to another account since.
    const running = (await this.#quota.bans()).filter(({ key }) => key === id)
    const quotas = new Set([quotaOf(await this.#key(id)), ...running.map(({ quota }) => quota)])
    let lifted = false
    for (const quota of quotas) lifted = (await this.#quota.lift(quota, id)) || lifted
    if (lifted) return
    throw new KeyMistake(`no ban of the key "${id}" runs`)
  }

  /** Empties minute and day of a key, or of the account that it shares them with. */
  async reset(id: string): Promise<string> {
    const quota = quotaOf(await this.#key(id))
    await this.#quota.reset(quota)
    return quota
  }

  async #key(id: string): Promise<Key> {
    const stored = await this.#keys.get(id)
    if (!stored) throw new KeyMistake(`there is no key with the id "${id}"`)
    return stored.key
  }
}
