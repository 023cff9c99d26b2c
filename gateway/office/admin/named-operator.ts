import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../../shared/refusal.ts'
import type { Config } from '../../front/config/config.ts'
import { plainAddress, Ranges } from '../../front/http/address.ts'
import { browserOriginOf, originFault } from './browser-origin.ts'
import { pageScreen } from './hosts.ts'
import { misnamed } from './refusals.ts'
import type { Operator } from './token.ts'

/** The longest name, in characters. */
const longestName = 128

/** Finds the operator whom an authenticating proxy names, or why it can't be; `undefined` of a request that no such proxy names. */
export type FindNamed = (request: IncomingMessage) => Operator | Refusal | undefined

/**
 * Finds operators by the header of `admin.trust`. Only the socket's address tells who has written it. A change needs a browser that
 * says that the console's own page has sent it: whatever the proxy knows somebody by, such as a cookie, goes along with the
 * requests of any page.
 */
export function namedOperator(config: () => Config): FindNamed {
  return (request) => {
    const { admin, trustedProxies } = config()
    const { trust } = admin
    const { method, socket } = request
    if (!trust || !new Ranges(trust.from).has(plainAddress(socket.remoteAddress ?? ''))) {
      return undefined
    }
    // Node would make one of several.
    const [value, ...others] = request.headersDistinct[trust.header] ?? []
    if (value === undefined) return undefined
    const name = others.length === 0 ? nameIn(value) : undefined
    if (name === undefined) return misnamed(trust.header, longestName)
    const role = trust.roles.get(name) ?? trust.roles.get('*')
    if (role === undefined)
      return new Refusal('forbidden', `admin.trust names no role for ${name}.`)
    const isRead = method === 'GET' || method === 'HEAD'
    const fault = isRead
      ? undefined
      : originFault(request, browserOriginOf(request, trustedProxies))
    return pageScreen(admin)(request) ?? fault ?? { name, role }
  }
}

/** The name in a value, which comes as bytes of UTF-8. */
function nameIn(value: string): string | undefined {
  // Node reads each byte as a character.
  const bytes = Buffer.from(value, 'latin1')
  const text = isUtf8(bytes) ? bytes.toString().trim() : ''
  const isName = text !== '' && [...text].length <= longestName
  return isName && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text) ? text : undefined
}
