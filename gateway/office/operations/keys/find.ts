import { endText } from '../../../../shared/times.ts'
import { jwtKind } from '../../../front/jwt/claims.ts'
import { keyUntil } from '../../../front/keys/key.ts'
import { isOf } from '../../../front/keys/outside-callers.ts'
import type { TokenHolder } from '../../../front/keys/reference.ts'
import type { KeyDetails } from '../quota-desk.ts'
import { anyText } from '../kinds.ts'
import { longestOutside } from '../../../front/http/token-length.ts'
import { KeyMistake } from '../../../front/keys/mistake.ts'
import type { Context } from '../context.ts'
import type { JudgedToken } from '../jwt/judged.ts'
import { operation, WrongInput } from '../operation.ts'
import { textOf } from '../parameters.ts'
import { listText } from './list.ts'
import { listingOf } from './listing.ts'
import { endedBy, keyText } from './texts.ts'

export const findKey = operation({
  name: 'keys find',
  at: ['POST /admin/keys/find'],
  summary: 'Show which key a token belongs to; reads the token from standard input',
  details:
    'tollgate keys find < token.txt; on a terminal it asks for the token, and doesn’t show it. It finds tokens that were ' +
    'rotated out, and those of revoked, disabled and expired keys. The token is never printed, logged or stored.',
  parameters: {
    token: {
      ...{ kind: anyText, help: 'Token', isSecret: true, isRequired: true },
      unless: 'reference',
    },
    reference: {
      ...textOf('ID', 'in place of a token: list the keys with this reference'),
      isOfCommand: true,
    },
  },
  role: 'read',
  run: async (context, { token, reference }) => {
    if (reference !== undefined) return listingOf(context, { reference, all: true })
    const { quotas } = context.desks()
    const text = token.trim()
    if (text === '') throw new WrongInput('no token was given')
    if (/\s/.test(text) || text.length > longestOutside) {
      throw new WrongInput(`a token has no white space, and at most ${longestOutside} characters`)
    }
    const holder = await holderOf(context, text)
    return { ...holder, details: await quotas.describe(holder.key) }
  },
  json: (found) => ('each' in found ? (found.list ?? null) : foundView(found)),
  text: (found, context) => {
    if ('each' in found) return listText(found, context)
    const { isCurrent, untilMs, works, details } = found
    const { clock } = context
    const which = details.kind
      ? `This JWT is for ${details.subject}, of ${details.issuer}.`
      : isCurrent
        ? 'This is the current token of the key.'
        : rotatedText(untilMs, clock())
    const state = details.state === 'active' ? '' : ` The key is ${details.state}.`
    const outcome = works
      ? outcomeText(details, clock())
      : 'It doesn’t work: requests with it get 401.'
    const leaked = works ? [`If others have it, ${endingOf(details)}.`] : []
    return keyText(details, clock(), [`${which}${state} ${outcome}`, ...leaked])
  },
})

/** How a token that works is ended; those of an issuer are its own. */
function endingOf(key: KeyDetails): string {
  return key.kind
    ? `tollgate keys disable ${key.id} refuses all tokens of its subject`
    : endedBy(key)
}

/** The holder of a token: of a key's, or else of one that an issuer has signed, whose it would be, verified or not. */
async function holderOf(context: Context, token: string): Promise<TokenHolder> {
  const { desks, config, clock, issuers, requiresVerified = false } = context
  const { keys } = desks()
  try {
    return await keys.holderOf(token)
  } catch (error) {
    const isNobodys = error instanceof KeyMistake && error.code === 'not_found'
    if (!isNobodys || config.jwt.length === 0) throw error
    // Loads undici, which few commands need.
    const { judgedToken } = await import('../jwt/judged.ts')
    const judged = await judgedToken(token, config.jwt, clock, issuers)
    if (!judged?.caller || (requiresVerified && judged.reason !== null)) throw error
    const { caller, reason, claims } = judged
    const { id, issuer, subject } = caller
    const key = await keys.show(id).catch(() => undefined)
    if (!key || !isOf(key, { kind: jwtKind, issuer, subject })) {
      const verdict = reason === null ? 'it verifies' : `it is refused (${reason})`
      throw new KeyMistake(
        `this JWT is for ${subject}, of ${issuer}, of whom there is no record yet; ${verdict}`,
        'not_found',
      )
    }
    const works = reason === null && keyUntil(key) > clock()
    return { key, isCurrent: true, untilMs: endOf(claims), works }
  }
}

/** The end of a token by its claims; `undefined` if they don't have one that is a date. */
function endOf(claims: JudgedToken['claims']): number | undefined {
  const untilMs = Number(claims?.['exp']) * 1_000
  return Math.abs(untilMs) <= 8.64e15 ? untilMs : undefined
}

type Found = TokenHolder & Readonly<{ details: KeyDetails }>

/** The key of a token, as programs get it. */
function foundView({ isCurrent, untilMs, works, details }: Found) {
  return {
    token: details.kind ?? (isCurrent ? 'current' : 'rotated_out'),
    until: untilMs === undefined ? null : new Date(untilMs).toISOString(),
    works,
    key: details,
  }
}

export type FoundKey = ReturnType<typeof foundView>

/** The outcome of a request with a valid token: its key may be refused all the same. */
function outcomeText({ plan, bannedUntil, standing }: KeyDetails, nowMs: number): string {
  if (!standing.offered) {
    return `It is valid, but its key is refused: the configuration has no limits for the plan ${plan}.`
  }
  if (bannedUntil === undefined) return 'It works.'
  return `It is valid, but its key is banned until ${endText(Date.parse(bannedUntil), nowMs)}.`
}

function rotatedText(untilMs: number | undefined, nowMs: number): string {
  const rotated = 'This token was rotated out: the key has a newer one.'
  if (untilMs === undefined) return `${rotated} It ended more than a day ago.`
  return `${rotated} ${untilMs > nowMs ? 'It ends' : 'It ended'} at ${endText(untilMs, nowMs)}.`
}
