import { endText } from '../../../../shared/times.ts'
import type { KeyDetails } from '../quota-desk.ts'
import { anyText } from '../kinds.ts'
import { operation, WrongInput, type AnswerOf } from '../operation.ts'
import { keyText } from './texts.ts'

/** The most characters of a token. */
const longestToken = 1_024

export const findKey = operation({
  name: 'keys find',
  at: ['POST /admin/keys/find'],
  summary: 'Tell whose a token is, which it reads from standard input',
  details:
    'tollgate keys find < token.txt; on a terminal it asks for the token, and doesn’t show it. It finds tokens that were ' +
    'rotated out, and those of revoked, disabled and expired keys. The token is never printed, logged or stored.',
  parameters: { token: { kind: anyText, help: 'Token', isSecret: true, isRequired: true } },
  role: 'read',
  run: async ({ desks }, { token }) => {
    const { keys, quotas } = desks()
    const text = token.trim()
    if (text === '') throw new WrongInput('no token was given')
    if (/\s/.test(text) || text.length > longestToken) {
      throw new WrongInput(`a token has no white space, and at most ${longestToken} characters`)
    }
    const holder = await keys.holderOf(text)
    return { ...holder, details: await quotas.describe(holder.key) }
  },
  json: ({ isCurrent, untilMs, works, details }) => ({
    token: isCurrent ? 'current' : 'rotated_out',
    until: untilMs === undefined ? null : new Date(untilMs).toISOString(),
    works,
    key: details,
  }),
  text: ({ isCurrent, untilMs, works, details }, { clock }) => {
    const which = isCurrent
      ? 'This is the current token of the key.'
      : rotatedText(untilMs, clock())
    const state = details.state === 'active' ? '' : ` The key is ${details.state}.`
    const outcome = works
      ? outcomeText(details, clock())
      : 'It doesn’t work: requests with it get 401.'
    return keyText(details, clock(), [`${which}${state} ${outcome}`])
  },
})

export type FoundKey = AnswerOf<typeof findKey>

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
