import { section, list, type Section } from '../../gateway/front/http/page/sections.ts'

/** What an operation takes. */
export type Given = Readonly<{
  path?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  body?: unknown
}>

/** Asks an operation by its id. */
export type Ask = (operationId: string, given?: Given) => Promise<Response>

/**
 * A client as generators make them: all that it knows is a document, the address of that document, and the value of each security
 * scheme.
 */
export function clientOf(document: Section, address: string, values: Record<string, string>): Ask {
  const schemes = section(section(document['components'])['securitySchemes'])

  function secured(security: unknown): Record<string, string> {
    const [first] = list(security).map(section)
    return Object.fromEntries(
      Object.keys(first ?? {}).map((each) => {
        const { type, name, in: place } = section(schemes[each])
        const value = values[each]
        if (value === undefined) throw new Error(`the client has nothing for ${each}`)
        if (type !== 'apiKey') return ['authorization', `Bearer ${value}`]
        if (place !== 'header') throw new Error(`${each} isn’t sent in a header`)
        return [String(name), value]
      }),
    )
  }

  return (operationId, { path = {}, query = {}, body } = {}) => {
    for (const [template, item] of Object.entries(section(document['paths']))) {
      for (const [method, each] of Object.entries(section(item))) {
        const operation = section(each)
        if (operation['operationId'] !== operationId) continue
        const server = String(section(list(document['servers'])[0])['url']).replace(/\/$/, '')
        const filled = template.replace(/\{(\w+)\}/g, (_all, name: string) => path[name] ?? '')
        const url = new URL(`${server}${filled}`, address)
        for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
        const headers = secured(operation['security'] ?? document['security'])
        const sent = body === undefined ? {} : { body: JSON.stringify(body) }
        const typed = body === undefined ? {} : { 'content-type': 'application/json' }
        const init = { method: method.toUpperCase(), headers: { ...headers, ...typed }, ...sent }
        return fetch(url, init)
      }
    }
    throw new Error(`there is no operation ${operationId}`)
  }
}
