import { fetchFor, tlsFailure, type Fetch } from './admin-fetch.ts'
import { readerOf, Type } from '../../../shared/schema.ts'
import { noToken } from '../admin/refusals.ts'
import { AdminTokenFault, adminTokensFrom, type AdminTokens } from '../admin/token.ts'
import { KeyMistake } from '../../front/keys/mistake.ts'
import type { AdminAddress } from '../../front/config/config.ts'
import type { Endpoint, Sent } from '../operations/context.ts'
import { roles } from '../../../shared/role.ts'
import { NoAnswer } from './no-answer.ts'
import { WrongInput } from '../operations/operation.ts'

/** Where the gateway is asked, and with which token. */
export type To = Readonly<{ address: AdminAddress; adminToken: string | undefined }>

/**
 * Asks the running gateway at the admin address of a configuration; resolves to its JSON. `otherwise` is a sentence
 * for error messages: the advice to a user whose gateway doesn't answer.
 */
export async function askGateway(to: To, endpoint: Endpoint, asked: Asked): Promise<unknown> {
  return JSON.parse(await (await answerOf(to, endpoint, asked)).text()) as unknown
}

export type Asked = Readonly<{
  otherwise?: string | undefined
  sent?: Sent | undefined
}>

/** The answer of the running gateway, if it isn't a refusal. */
async function answerOf(
  { address, adminToken }: To,
  endpoint: Endpoint,
  { otherwise = '', sent }: Asked,
): ReturnType<Fetch> {
  const [method = '', path = ''] = endpoint.split(' ')
  const { host, port, tls } = address
  const url = `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
  const failed = (sentence: string): string => `${sentence}. ${otherwise}`.trim()
  // With the token that may do most.
  const tokens = tokensFrom(adminToken, url)
  const token = [...roles]
    .reverse()
    .flatMap((role) => tokens.filter((each) => each.role === role))[0]
  const authorization = token ? { authorization: `Bearer ${token.token}` } : {}
  const options = { method, ...sent, headers: { ...sent?.headers, ...authorization } }
  const ask = await fetchFor(address)
  const answer = await ask(url + path, options).catch((error: unknown) => {
    const why = tlsFailure(error)
    const sentence = why === undefined ? '' : `: ${why.replace(/\.$/, '')}`
    throw new NoAnswer(failed(`no gateway answers at ${url}${sentence}`), { cause: error })
  })
  if (answer.ok) return answer
  const body = await answer.text()
  if (answer.status === 403 && body.includes(noToken)) {
    throw new WrongInput(
      failed(
        `the gateway at ${url} was started without ADMIN_TOKEN, so its admin API is closed: set it ` +
          'where the gateway starts, and here',
      ),
    )
  }
  if (!token) {
    throw new WrongInput(
      failed(`ADMIN_TOKEN is not set here: set it to a token of the gateway at ${url}`),
    )
  }
  // Empty if the answer isn't one of ours.
  const why = (refusalFrom(body)?.message ?? '').replace(/\.$/, '')
  // As the same mistake reads where a command finds it by itself.
  if (answer.status === 404) throw new KeyMistake(beginsSmall(why), 'not_found')
  throw new Error(failed(`the gateway at ${url} answers ${answer.status}${why && `: ${why}`}`))
}

function beginsSmall(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1)
}

const refusalFrom = readerOf(Type.Object({ message: Type.String() }))

function tokensFrom(setting: string | undefined, url: string): AdminTokens {
  try {
    return adminTokensFrom(setting)
  } catch (error) {
    if (!(error instanceof AdminTokenFault)) throw error
    throw new WrongInput(
      `${error.fault}, as it is set here: set it to a token of the gateway at ${url}`,
    )
  }
}
