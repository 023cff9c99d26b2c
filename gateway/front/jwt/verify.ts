import type * as jose from 'jose'
import type { Reason } from '../../../shared/refusal.ts'
import { leewaySeconds } from './claims.ts'
import type { VerifyingKey } from './key.ts'
import type { JwtSettings } from './settings.ts'

/** The package that verifies. It is loaded where tokens of issuers are taken, and nowhere else. */
export type Jose = Pick<typeof jose, 'jwtVerify'>

/** Why a token isn't let in: those of a caller that is one too many, or has too many accounts, are the last. */
export const jwtReasons = [
  ...['jwt_malformed', 'jwt_issuer', 'jwt_signature', 'jwt_audience', 'jwt_expired', 'jwt_early'],
  ...['jwt_claim', 'jwt_keys', 'jwt_callers', 'jwt_accounts'],
] as const satisfies readonly Reason[]

export type JwtReason = (typeof jwtReasons)[number]

export type Asked = Readonly<{
  token: string
  algorithm: string
  key: VerifyingKey
  settings: JwtSettings
  nowMs: number
}>

/** Why a token isn't valid: its signature, or a claim that all tokens have; `undefined` if it is. */
export async function faultOf(
  { jwtVerify }: Jose,
  { token, algorithm, key, settings, nowMs }: Asked,
): Promise<JwtReason | undefined> {
  const { issuer, audience } = settings
  const options: jose.JWTVerifyOptions = {
    algorithms: [algorithm],
    issuer,
    ...(audience === undefined ? {} : { audience }),
    requiredClaims: ['exp'],
    clockTolerance: leewaySeconds,
    currentDate: new Date(nowMs),
  }
  try {
    await jwtVerify(token, key.key, options)
    return undefined
  } catch (error) {
    return reasonOf(error)
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
