import { breathe } from '../../../shared/breathe.ts'
import type { Clock } from '../../../shared/clock.ts'
import type { Config } from '../../front/config/config.ts'
import { announcer } from '../../front/config/deprecations.ts'
import type { Key } from '../../front/keys/key.ts'
import type { KeyStore } from '../../front/keys/store.ts'
import { stateOf } from '../../front/keys/view.ts'
import { dayMs, hourMs, minuteMs } from '../../../shared/windows.ts'
import { deprecatedCalls } from '../../front/counts/deprecated-calls.ts'
import type { TallyStore } from '../../front/counts/tally-store.ts'
import { soonMs } from '../../../shared/tls/ends.ts'
import type { CertificateEnd } from '../../front/certificates.ts'
import { noticedKey, noticeOf, type NewNotice } from '../../front/records/notice.ts'
import type { Outbox } from './outbox.ts'

/** The days before the end of a key, before a sunset, and before the end of a certificate, on which they are told; the nearest first. */
const expiryDays = [1, 7]
const sunsetDays = [7, 30]
const certificateDays = [1, soonMs / dayMs]

/** A key still calls an operation if it did within this time. */
const recentDays = 30

/** Keys that are looked at in one turn of the loop. */
const keysAtOnce = 200

/** The time between two walks. */
const everyMs = hourMs

/** The time from the start to the first walk. */
const firstMs = minuteMs

type WalksOptions = Readonly<{
  stores: NearEndsOptions['stores']
  /** The configuration in force. */
  config: () => Config
  outbox: Outbox
  clock: Clock
}>

/** Walks through all keys and sunsets once an hour, and adds the notices of those whose end is near. */
export class HourlyScan {
  readonly #options: WalksOptions
  #nextAtMs: number
  #walking: Promise<void> | undefined
  /** The notices of sunsets that were added: counting their callers takes long. */
  readonly #sunsets = new Set<string>()

  constructor(options: WalksOptions) {
    this.#options = options
    this.#nextAtMs = options.clock() + firstMs
  }

  /** Begins a walk if it is time for one. */
  beginIfDue(): void {
    const nowMs = this.#options.clock()
    if (nowMs < this.#nextAtMs) return
    this.#nextAtMs = nowMs + everyMs
    void this.walk()
  }

  /** Walks now; what fails is tried again at the next walk. */
  walk(): Promise<void> {
    return (this.#walking ??= this.#walk()
      .catch(() => undefined)
      .finally(() => (this.#walking = undefined)))
  }

  /** Resolves once no walk is under way. */
  async ended(): Promise<void> {
    await this.#walking
  }

  async #walk(): Promise<void> {
    const { stores, config, outbox, clock } = this.#options
    if (outbox.wants('operation.sunset_near')) {
      const walked = { stores, config: config(), clock }
      for await (const notice of nearSunsets(walked, (id) => this.#sunsets.has(id))) {
        await outbox.addNow(notice)
        this.#sunsets.add(notice.id)
      }
    }
    if (!outbox.wants('key.expiring')) return
    for await (const notice of expiringKeys({ stores, clock })) {
      await outbox.addNow(notice)
      await breathe()
    }
  }
}

type NearEndsOptions = Readonly<{
  stores: Readonly<{ keys: KeyStore; tallies: TallyStore }>
  config: Config
  clock: Clock
}>

/** The notices of keys that end soon. */
async function* expiringKeys({
  stores,
  clock,
}: Omit<NearEndsOptions, 'config'>): AsyncGenerator<NewNotice, void> {
  let count = 0
  for await (const key of stores.keys.list()) {
    const notice = expiryOf(key, clock())
    if (notice) yield notice
    if (++count % keysAtOnce === 0) await breathe()
  }
}

function expiryOf(key: Key, nowMs: number): NewNotice | undefined {
  const { id, plan, expiresAtMs } = key
  if (expiresAtMs === undefined || stateOf(key, nowMs) !== 'active') return undefined
  const days = expiryDays.find((days) => expiresAtMs - nowMs <= days * dayMs)
  if (days === undefined) return undefined
  const data = {
    key: noticedKey(key),
    plan,
    expiresAt: new Date(expiresAtMs).toISOString(),
    days,
  }
  return noticeOf(
    { type: 'key.expiring', parts: [id, expiresAtMs, days], atMs: nowMs, data },
    { rememberMs: expiresAtMs - nowMs + dayMs },
  )
}

/** The notice of a certificate that ends soon: all gateways that have it make the same one. */
export function endingCertificate(
  { use, endsAtMs, leftMs }: CertificateEnd,
  { atMs, gateway }: Readonly<{ atMs: number; gateway: string }>,
): NewNotice | undefined {
  const days = certificateDays.find((days) => leftMs > 0 && leftMs <= days * dayMs)
  if (days === undefined) return undefined
  const data = { use, endsAt: new Date(endsAtMs).toISOString(), days, gateway }
  return noticeOf(
    { type: 'certificate.ends', parts: [use, endsAtMs, days], atMs, data },
    { rememberMs: leftMs + dayMs },
  )
}

/** The notices of operations that end soon, with the number of keys that still call. */
async function* nearSunsets(
  { stores, config, clock }: NearEndsOptions,
  isTold: (id: string) => boolean,
): AsyncGenerator<NewNotice, void> {
  const nowMs = clock()
  const today = Math.floor(nowMs / dayMs)
  let calls: Awaited<ReturnType<typeof deprecatedCalls>> | undefined
  for (const deprecation of config.deprecations) {
    const { operation, sunsetMs = 0, replacement = null } = deprecation
    const leftMs = sunsetMs - nowMs
    const days = sunsetDays.find((days) => leftMs > 0 && leftMs <= days * dayMs)
    if (days === undefined) continue
    const parts = [operation, sunsetMs, days]
    const sunset = new Date(sunsetMs).toISOString()
    const notice = (keys: number): NewNotice => {
      const data = { operation, sunset, days, keys, replacement }
      const event = { type: 'operation.sunset_near', parts, atMs: nowMs, data } as const
      return noticeOf(event, { rememberMs: leftMs + dayMs })
    }
    if (isTold(notice(0).id)) continue
    calls ??= await deprecatedCalls(stores, today - recentDays, today)
    const announcedTo = announcer(deprecation)
    let keys = 0
    for (const { key } of calls.filter((call) => call.operation === operation)) {
      const account = (await stores.keys.get(key))?.key.account
      if (!announcedTo({ id: key, account }).extension) keys++
    }
    yield notice(keys)
  }
}
