import type { Clock } from '../../../shared/clock.ts'
import type { Outsider, Voucher } from '../keys/outsider.ts'
import { areForUs, outsiderOf } from './claims.ts'
import type { Unverified } from './form.ts'
import type { VerifyingKey } from './key.ts'
import type { LiveKeys } from './live-keys.ts'
import { algorithmNamed, type JwtSettings } from './settings.ts'
import { faultOf, type Jose, type JwtReason } from './verify.ts'

/** What verified claims say, why a token isn't valid, or `never` as long as no key of its issuer has come. */
export type Judgement = Outsider | JwtReason | 'never'

/** The settings that make an issuer's tokens valid: these count until the settings are in force no more. */
export type Trust = { isInForce: boolean }

/** An issuer in one or more configurations, with its keys. */
export class Issuer {
  readonly settings: JwtSettings
  readonly keys: LiveKeys
  /** The most callers that have a record. */
  maxCallers: number
  readonly trust: Trust
  /** Whether the configuration makes other callers of the same claims by now. */
  isOutdated = false
  readonly #jose: Jose
  readonly #clock: Clock

  constructor(
    settings: JwtSettings,
    keys: LiveKeys,
    jose: Jose,
    clock: Clock,
    trust: Trust = { isInForce: true },
  ) {
    this.settings = settings
    this.trust = trust
    this.maxCallers = settings.maxCallers
    this.keys = keys
    this.#jose = jose
    this.#clock = clock
  }

  async judge(token: string, { header, claims = {} }: Unverified): Promise<Judgement> {
    const { settings } = this
    const { alg, kid } = header
    const isOurs = (each: string): boolean => algorithmNamed(each) === algorithmNamed(alg)
    if (typeof alg !== 'string' || !settings.algorithms.some(isOurs)) return 'jwt_signature'
    if (kid !== undefined && typeof kid !== 'string') return 'jwt_malformed'
    const key = await this.keys.find(kid, algorithmNamed(alg))
    if (key === 'never') return 'never'
    if (!key) return 'jwt_keys'
    const nowMs = this.#clock()
    const fault = await faultOf(this.#jose, { token, algorithm: alg, key, settings, nowMs })
    if (!fault && !areForUs(settings, claims)) return 'jwt_audience'
    return fault ?? outsiderOf(settings, claims, new Vouching(this, key)) ?? 'jwt_claim'
  }
}

/** An issuer vouches by one of its keys, as long as both are in force. */
class Vouching implements Voucher {
  readonly #issuer: Issuer
  readonly #key: VerifyingKey

  constructor(issuer: Issuer, key: VerifyingKey) {
    this.#issuer = issuer
    this.#key = key
  }

  get isTrusted(): boolean {
    return this.#issuer.trust.isInForce && this.#key.isInForce
  }

  get isOutdated(): boolean {
    return this.#issuer.isOutdated
  }
}
