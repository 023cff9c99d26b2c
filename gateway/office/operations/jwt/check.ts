import { printable } from '../../../../shared/printable.ts'
import { endText } from '../../../../shared/times.ts'
import { longestOutside } from '../../../front/http/token-length.ts'
import { jwtSentences } from '../../explain/sentences.ts'
import { argument, textOf } from '../parameters.ts'
import { operation, WrongInput } from '../operation.ts'
import { aligned } from '../table.ts'
import type { JudgedToken } from './judged.ts'

export const checkJwt = operation({
  name: 'jwt check',
  at: ['POST /admin/jwt/check'],
  summary: 'Show what a JWT says, whether it verifies, and which caller it is for',
  details:
    'Reads the token from standard input if it is left out, or is -. The keys of its issuer are fetched for it. The token is ' +
    'never logged or stored. Exit code 1 if a gateway would refuse it.',
  parameters: {
    token: { ...textOf('TOKEN', 'Token'), ...argument, isSecret: true },
  },
  role: 'read',
  run: async ({ config, clock }, { token }) => {
    const text = token.trim()
    if (text.length > longestOutside) {
      throw new WrongInput(`a token has at most ${longestOutside} characters`)
    }
    // Loads undici, which few commands need.
    const { judgedToken } = await import('./judged.ts')
    const judged = await judgedToken(text, config.jwt, clock)
    if (judged) return judged
    throw new WrongInput(
      'this is no JWT: three parts with dots between them, of which the first is a JSON object with alg',
    )
  },
  isRefused: ({ reason }) => reason !== null,
  text: (judged, { clock }) =>
    [
      verdictText(judged),
      '',
      aligned([
        ['header:', shown(judged.header)],
        ['claims:', shown(judged.claims)],
        ...timeRows(judged, clock()),
        ...callerRows(judged),
      ]),
    ].join('\n'),
})

/** The verdict in a sentence or two. */
function verdictText({ reason, failure }: JudgedToken): string {
  if (reason === null) return 'It verifies.'
  const why = failure === null ? '' : ` The keys can’t be fetched: ${printable(failure)}.`
  return `It is refused (${reason}). ${jwtSentences[reason]}${why}`
}

function timeRows({ claims }: JudgedToken, nowMs: number): string[][] {
  return (['nbf', 'exp'] as const).flatMap((name) => {
    const seconds = claims?.[name]
    const isTime = typeof seconds === 'number' && Math.abs(seconds) < 8.64e12
    return isTime ? [[`${name}:`, endText(seconds * 1_000, nowMs)]] : []
  })
}

function callerRows({ caller }: JudgedToken): string[][] {
  if (!caller) return []
  return Object.entries({
    'its key': caller.id,
    name: caller.name,
    subject: caller.subject,
    plan: caller.plan,
    account: caller.account ?? 'none',
    scopes: caller.scopes?.join(' ') ?? 'a claim that routes with scopes refuse',
    ...caller.headers,
  }).map(([name, value]) => [`${name}:`, value])
}

function shown(members: object | null): string {
  return members === null ? 'can’t be read' : JSON.stringify(members)
}
