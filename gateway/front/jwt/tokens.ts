import { frozen } from '../../../shared/frozen.ts'
import { longestOutside } from '../http/token-length.ts'
import { Caller } from '../keys/caller.ts'
import { LookUps } from '../keys/look-ups.ts'
import type { OutsideAccounts } from '../keys/outside-accounts.ts'
import {
  outsideId,
  type Denial,
  type OutsideCallers,
  type OutsideFinder,
} from '../keys/outside-callers.ts'
import { originOfPlan, type PlanOrigin } from './claims.ts'
import { unverified } from './form.ts'
import type { Issuer, JwtReason } from './issuer.ts'

export type JwtTokensOptions = Readonly<{
  /** By the name in `iss`. */
  issuers: ReadonlyMap<unknown, Issuer>
  callers: OutsideCallers
  accounts: OutsideAccounts
  /** Whether callers have their claims, which take memory: an app's handlers read them. */
  keepsClaims: boolean
  /** Called for a token that isn't let in. */
  denied: (denial: Denial, issuer: string | undefined) => void
  /** Called for a token that is let in, if its plan is that of a claim, or of `else`. */
  planned: (issuer: string, by: PlanOrigin) => void
}>

/** Finds the callers of tokens that the issuers of one configuration have signed. */
export function jwtTokens(options: JwtTokensOptions): OutsideFinder {
  const { issuers, callers, accounts, keepsClaims, denied, planned } = options
  const lookUps = new LookUps()

  async function find(token: string): Promise<Caller | Denial> {
    const unproven = unverified(token)
    const issuer = issuers.get(unproven?.claims?.['iss'])
    const outcome = await decide(token, unproven, issuer)
    if (!(outcome instanceof Caller)) denied(outcome, issuer?.settings.issuer)
    return outcome
  }

  async function decide(
    token: string,
    given: ReturnType<typeof unverified>,
    issuer: Issuer | undefined,
  ): Promise<Caller | Denial> {
    if (!given?.claims) return invalid('jwt_malformed')
    if (!issuer) return invalid('jwt_issuer')
    const judgement = await issuer.judge(token, given)
    if (judgement === 'never') return { reason: 'jwt_keys', isTemporary: true }
    if (typeof judgement === 'string') return invalid(judgement)
    const outsider = keepsClaims ? { ...judgement, data: frozen(given.claims) } : judgement
    const caller = await callers.find(token, outsider, issuer.maxCallers, accounts)
    if (caller instanceof Caller) {
      const origin = originOfPlan(issuer.settings, given.claims)
      if (origin) planned(issuer.settings.issuer, origin)
      return caller
    }
    if (caller === 'mismatch') return invalid('jwt_claim')
    if (caller === 'accounts') {
      return { reason: 'jwt_accounts', isTemporary: true, key: outsideId(judgement) }
    }
    return { reason: caller === 'full' ? 'jwt_callers' : 'store', isTemporary: true }
  }

  return {
    longest: longestOutside,
    takes: (token) => unverified(token) !== undefined,
    find: (token) => lookUps.of(token, () => find(token)),
  }
}

function invalid(reason: JwtReason): Denial {
  return { reason, isTemporary: false }
}
