import { noToken } from '../admin/refusals.ts'
import { adminTokensFrom, type AdminTokens } from '../admin/token.ts'
import { KeyMistake } from '../keys/mistake.ts'
import type { AdminAddress } from '../config/config.ts'
import type { Endpoint, Sent } from '../operations/context.ts'
import { roles } from '../operations/role.ts'
import { WrongInput } from '../operations/operation.ts'

/** Where the gateway is asked, and with which token. */
export type To = Readonly<{ address: AdminAddress; adminToken: string | undefined }>

/**
 * Asks the running gateway at the admin address of a configuration; resolves to its JSON. `otherwise` is a sentence
 * for error messages: the advice to a user whose gateway doesn't answer.
 */
export async function askGateway(
  { address: { host, port }, adminToken }: To,
  endpoint: Endpoint,
  { otherwise = '', sent }: Readonly<{ otherwise?: string | undefined; sent?: Sent | undefined }>,
): Promise<unknown> {
  const [method = '', path = ''] = endpoint.split(' ')
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const failed = (sentence: string): string => `${sentence}. ${otherwise}`.trim()
  // With the token that may do most.
  const tokens = tokensFrom(adminToken)
  const token = [...roles]
    .reverse()
    .flatMap((role) => tokens.filter((each) => each.role === role))[0]
  const authorization = token ? { authorization: `Bearer ${token.token}` } : {}
  const options = { method, ...sent, headers: { ...sent?.headers, ...authorization } }
  const answer = await fetch(url + path, options).catch((error: unknown) => {
    throw new Error(failed(`no gateway answers at ${url}`), { cause: error })
  })
  const body = await answer.text()
  if (answer.ok) return JSON.parse(body) as unknown
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
  const why = messageIn(body).replace(/\.$/, '')
  // As the same mistake reads where a command finds it by itself.
  if (answer.status === 404) throw new KeyMistake(beginsSmall(why), 'not_found')
  throw new Error(failed(`the gateway at ${url} answers ${answer.status}${why && `: ${why}`}`))
}

function beginsSmall(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1)
}

/** The message of a refusal; empty if the answer isn't one of ours. */
function messageIn(body: string): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown }
    return typeof message === 'string' ? message : ''
  } catch {
    return ''
  }
}

function tokensFrom(setting: string | undefined): AdminTokens {
  try {
    return adminTokensFrom(setting)
  } catch (error) {
    throw new WrongInput(error instanceof Error ? error.message : String(error))
  }
}
