import { connect as connectPlainly, type Socket } from 'node:net'
import { connect as connectByTls } from 'node:tls'

/**
 * How connections to an https URL are made: all servers get the same version and cipher, whatever they prefer. Certificates are
 * the measurement's own.
 */
const tls = {
  minVersion: 'TLSv1.3',
  ciphers: 'TLS_AES_256_GCM_SHA384',
  rejectUnauthorized: false,
} as const

/** A keep-alive connection on which one request at a time is in flight. */
export type Connection = Readonly<{ send: (request: string) => void; end: () => void }>

/**
 * Opens a connection; `answered` is called with the status of each answer. One that the server closes is
 * opened anew, and a request that it left unanswered is sent again, as clients do with a GET.
 */
export function openConnection(
  url: string,
  answered: (status: string, connection: Connection) => void,
): Promise<Connection> {
  const { protocol, hostname: host, port } = new URL(url)
  const isTls = protocol === 'https:'
  let asked: string | undefined
  let isOver = false
  let socket = opened()
  const connection: Connection = {
    send: (request) => {
      asked = request
      if (socket.destroyed || !socket.writable) socket = opened()
      socket.write(request)
    },
    end: () => {
      isOver = true
      socket.end()
    },
  }
  // Rejects while it connects. An error of a later connection is thrown, and ends the measurement.
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once(isTls ? 'secureConnect' : 'connect', () => resolve(connection))
  })

  function opened(): Socket {
    const own = connectTo({ host, port: Number(port), noDelay: true }, isTls)
    let received = ''
    own.setEncoding('latin1')
    own.once('connect', () => own.on('error', () => undefined))
    own.once('close', () => {
      if (own !== socket || isOver || asked === undefined) return
      socket = opened()
      socket.write(asked)
    })
    own.on('data', (text: string) => {
      received += text
      const end = answerEnd(received)
      if (end === undefined) return
      const status = received.slice(9, 12)
      const isLast = /^connection: close\r$/im.test(received.slice(0, end))
      received = received.slice(end)
      asked = undefined
      if (isLast) own.destroy()
      answered(status, connection)
    })
    return own
  }
}

function connectTo(to: { host: string; port: number; noDelay: boolean }, isTls: boolean): Socket {
  return isTls ? connectByTls({ ...to, ...tls }) : connectPlainly(to)
}

/** Where the first answer of a text ends; `undefined` while it is not all there. */
function answerEnd(text: string): number | undefined {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return undefined
  const length = /^content-length: *(\d+)/im.exec(text.slice(0, head))?.[1]
  if (length !== undefined) {
    const end = head + 4 + Number(length)
    return text.length >= end ? end : undefined
  }
  if (!/^transfer-encoding: *chunked/im.test(text.slice(0, head))) return head + 4
  const last = text.indexOf('\r\n0\r\n\r\n', head + 2)
  return last < 0 ? undefined : last + 7
}

/** The bytes of a request. */
export function bytes(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = '',
): string {
  const all = {
    Host: 'bench',
    ...headers,
    ...(body ? { 'Content-Length': String(body.length) } : {}),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
