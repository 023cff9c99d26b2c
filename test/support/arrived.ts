import { createHmac } from 'node:crypto'

/** A request as a backend gets it, and as it can be sent again: names and values of headers in pairs. */
export type Arrived = Readonly<{
  method: string
  target: string
  headers: readonly (readonly [name: string, value: string])[]
  body: Buffer
}>

/** A header by its name in small letters; empty without it. */
export function valueOf({ headers }: Arrived, name: string): string {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1] ?? ''
}

/** The same request with another header, added where it has none of that name, or without one. */
export function withHeader(arrived: Arrived, name: string, value: string | undefined): Arrived {
  const others = arrived.headers.filter(([each]) => each.toLowerCase() !== name.toLowerCase())
  return { ...arrived, headers: value === undefined ? others : [...others, [name, value]] }
}

/** The bytes of a request, after which its connection ends. */
export function bytesOf({ method, target, headers, body }: Arrived): Buffer {
  const own = headers.filter(([name]) => !/^(?:connection|content-length)$/i.test(name))
  const lines = [...own, ['Connection', 'close'], ['Content-Length', String(body.length)]]
  const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${text}\r\n`, 'latin1'), body])
}

/** The parts and the parameters of the gateway's signature. */
export function inputOf(arrived: Arrived) {
  const [, list = '', how = ''] =
    /tollgate=\(([^)]*)\);(.*)$/.exec(valueOf(arrived, 'signature-input')) ?? []
  return { parts: list.split(' ').map((part) => part.slice(1, -1)), how }
}

/** The same request signed with a secret for these parts and parameters, by RFC 9421 and no code of the gateway's. */
export function signedAs(
  arrived: Arrived,
  { parts, how }: Readonly<{ parts: readonly string[]; how: string }>,
  secret: string,
): Arrived {
  const [path = '', ...query] = arrived.target.split('?')
  const values: Readonly<Record<string, string>> = {
    '@method': arrived.method,
    '@path': path,
    '@query': `?${query.join('?')}`,
  }
  const lines = parts.map((part) => `"${part}": ${values[part] ?? valueOf(arrived, part)}`)
  const input = `(${parts.map((part) => `"${part}"`).join(' ')});${how}`
  const base = [...lines, `"@signature-params": ${input}`].join('\n')
  const sum = createHmac('sha256', secret).update(base, 'latin1').digest('base64')
  const signed = withHeader(arrived, 'Signature', `tollgate=:${sum}:`)
  return withHeader(signed, 'Signature-Input', `tollgate=${input}`)
}
