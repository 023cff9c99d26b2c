import type * as jose from 'jose'
import type { Clock } from '../../../shared/clock.ts'
import type { Reason } from '../../../shared/refusal.ts'
import type { Outsider, Voucher } from '../keys/outsider.ts'
import { areForUs, leewaySeconds, outsiderOf } from './claims.ts'
import type { Unverified } from './form.ts'
import type { VerifyingKey } from './key-set.ts'
import type { LiveKeys } from './live-keys.ts'
import { algorithmNamed, type JwtSettings } from './settings.ts'

/** The package that verifies. It is loaded where tokens of issuers are taken, and nowhere else. */
export type Jose = Pick<typeof jose, 'jwtVerify'>

/** Why a token isn't let in: those of a caller that is one too many, or has too many accounts, are the last. */
export const jwtReasons = [
  ...['jwt_malformed', 'jwt_issuer', 'jwt_signature', 'jwt_audience', 'jwt_expired', 'jwt_early'],
  ...['jwt_claim', 'jwt_keys', 'jwt_callers', 'jwt_accounts'],
] as const satisfies readonly Reason[]

export type JwtReason = (typeof jwtReasons)[number]

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
    const fault = await this.#faultOf(token, alg, key)
    if (!fault && !areForUs(settings, claims)) return 'jwt_audience'
    return fault ?? outsiderOf(settings, claims, this.#vouchingBy(key)) ?? 'jwt_claim'
  }

  /** Why a token isn't valid: its signature, or a claim that all tokens have; `undefined` if it is. */
  async #faultOf(
    token: string,
    algorithm: string,
    { key }: VerifyingKey,
  ): Promise<JwtReason | undefined> {
    const { issuer, audience } = this.settings
    try {
      await this.#jose.jwtVerify(token, key, {
        algorithms: [algorithm],
        issuer,
        ...(audience === undefined ? {} : { audience }),
        requiredClaims: ['exp'],
        clockTolerance: leewaySeconds,
        currentDate: new Date(this.#clock()),
      })
      return undefined
    } catch (error) {
      return reasonOf(error)
    }
  }

  /** It vouches by one of its keys, as long as both are in force. */
  #vouchingBy(key: VerifyingKey): Voucher {
    return new Vouching(this, key)
  }
}

/** One lives with each caller that is remembered: its getters are the class's. */
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

function reasonOf(error: unknown): JwtReason {
  const { code, claim, reason } = error as { code?: string; claim?: string; reason?: string }
  if (code === 'ERR_JWT_EXPIRED') return 'jwt_expired'
  if (code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') return 'jwt_signature'
  if (code !== 'ERR_JWT_CLAIM_VALIDATION_FAILED') return 'jwt_malformed'
  if (claim === 'aud') return 'jwt_audience'
  if (claim === 'iss') return 'jwt_issuer'
  return claim === 'nbf' && reason === 'check_failed' ? 'jwt_early' : 'jwt_claim'
}
