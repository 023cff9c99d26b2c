import { connect } from 'node:net'
import { Agent, request } from 'undici'

export type Answer = Readonly<{
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  text: string
}>

export type Call = (
  method: string,
  path: string,
  body?: string | Buffer | object,
  headers?: Record<string, string>,
) => Promise<Answer>

/** Calls a server; an object is sent as JSON, a text or bytes as they are. */
export function caller(url: string): Call {
  return callerBy(url, {})
}

/** The same for a server that speaks TLS with a certificate of its own. */
export function tlsCaller(url: string, ca: string): Call {
  return callerBy(url, { dispatcher: new Agent({ connect: { ca } }) })
}

function callerBy(url: string, options: Readonly<{ dispatcher?: Agent }>): Call {
  return async (method, path, body, headers = {}) => {
    const raw = typeof body === 'string' || Buffer.isBuffer(body)
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const answer = await request(url + path, {
      ...options,
      method: method as 'GET',
      headers: { ...type, ...headers },
      body: body === undefined ? null : raw ? body : JSON.stringify(body),
    })
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
  }
}

/** The members of a JSON object or array that a test then looks at. */
export function json(answer: Answer | string): Record<string, unknown> {
  const text = typeof answer === 'string' ? answer : answer.text
  return JSON.parse(text) as Record<string, unknown>
}

/** Writes bytes to a server as they stand and gives back all that comes until it hangs up. */
export function raw(
  url: string,
  bytes: string | Buffer,
  waitMs = 5_000,
  encoding: BufferEncoding = 'utf8',
): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect(Number(port), hostname.replace(/[[\]]/g, ''), () => socket.write(bytes))
    socket.setEncoding(encoding)
    socket.setTimeout(waitMs, () => socket.destroy())
    socket.on('data', (text: string) => (received += text))
    socket.on('error', reject)
    socket.on('close', () => resolve(received))
  })
}

/** The bytes of a connection, parsed as one answer. */
export function answerFrom(text: string): Answer {
  const end = text.indexOf('\r\n\r\n')
  const [start = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers: Record<string, string | string[]> = {}
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(line) ?? []
    const before = headers[name.toLowerCase()]
    headers[name.toLowerCase()] = before === undefined ? value : [before, value].flat()
  }
  return { status: Number(start.split(' ')[1]), headers, text: text.slice(end + 4) }
}
