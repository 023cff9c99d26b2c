import { once } from 'node:events'
import { connect } from 'node:net'
import type { Test } from 'tap'
import { startRawUpstream } from './gateway.ts'

export type Line = readonly [name: string, value: string]

/** A backend of bytes; `take` gives those of the request that it has got last. */
export async function startWire(t: Test) {
  let last = ''
  const upstream = await startRawUpstream(t, (socket) => {
    let got = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      got += text
      const end = got.indexOf('\r\n\r\n')
      const length = Number(/\r\ncontent-length: ?(\d+)/i.exec(got)?.[1] ?? 0)
      const isChunked = /\r\ntransfer-encoding:/i.test(got.slice(0, end))
      const isWhole = isChunked ? /\r\n0\r\n[^]*\r\n$/.test(got) : got.length >= end + 4 + length
      if (end < 0 || !isWhole) return
      last = got
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}')
    })
  })
  const take = () => {
    const taken = last
    last = ''
    return taken
  }
  return { upstream, take }
}

/** Sends bytes on a connection of their own; gives the status of the first answer. */
export async function statusOf(url: string, bytes: Buffer): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('latin1')
  socket.write(bytes)
  const [answer] = (await once(socket, 'data')) as [string]
  socket.destroy()
  return answer.slice(9, 12)
}

/** What a backend may take for lines of headers or trailers, wherever they stand. */
export function linesIn(request: string): readonly Line[] {
  const lines = request.split(/\r\n|\r|\n/).slice(1)
  return lines.flatMap((line) => {
    const [, name, value = ''] = /^([^:]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? []
    return name === undefined ? [] : [[name, value] as const]
  })
}
