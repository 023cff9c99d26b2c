import type { Config } from '../config/config.ts'
import { authorization } from '../http/key-header.ts'
import { list, section, type Section } from '../http/page/sections.ts'
import { keyHeaderOf } from './terms.ts'

/** The headers in which keys come. */
type Headers = Pick<Config, 'keys'>

/**
 * The security schemes of a document, with those that carry a key as this gateway takes it, and with `[name, scheme]` if none of
 * the document does.
 */
export function keySchemes(
  schemes: Section,
  headers: Headers,
  [name, scheme]: readonly [string, unknown],
) {
  const carrying = Object.entries(schemes).flatMap(([each, written]) => {
    const form = keyForm(section(written), headers)
    return form ? [[each, form] as const] : []
  })
  const [first = [name, keyForm(section(scheme), headers)] as const, ...others] = carrying
  const used = new Map<string, Section | undefined>([first, ...others])
  return {
    schemes: { ...schemes, ...Object.fromEntries(used) },
    /** The requirements that have a key; if none has, all, each with a key beside what it asks for. */
    required(security: unknown): readonly Section[] {
      const asked = list(security).map(section)
      const withKey = asked.filter((each) => Object.keys(each).some((name) => used.has(name)))
      if (withKey.length > 0) return withKey
      return (asked.length > 0 ? asked : [{}]).map((each) => ({ ...each, [first[0]]: [] }))
    },
  }
}

/**
 * A scheme as the gateway takes keys; `undefined` for one that carries none. A bearer token is a key, and so is all that comes
 * in a header of keys: a backend never sees it. Tokens of OAuth and OpenID Connect are sent as bearer tokens.
 */
function keyForm(written: Section, headers: Headers): Section | undefined {
  const { type, in: place, name, scheme, description } = written
  const isToken = type === 'oauth2' || type === 'openIdConnect'
  const isBearer = type === 'http' && String(scheme).toLowerCase() === 'bearer'
  const isNamed = type === 'apiKey' && place === 'header'
  const sentIn = isNamed ? String(name).toLowerCase() : authorization
  const isSent = headers.keys.from.includes(sentIn) && (isToken || isNamed || type === 'http')
  if (!isBearer && !isSent) return undefined
  const header = keyHeaderOf(headers)
  const isBearerHere = header.before !== ''
  if (isToken || (isBearer && isBearerHere)) return written
  const form = isBearerHere
    ? { type: 'http', scheme: 'bearer' }
    : { type: 'apiKey', in: 'header', name: header.name }
  return { ...form, description }
}
