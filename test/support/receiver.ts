import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** The secret that notices to a receiver are signed with. */
export const secret = 'a secret of this test alone'
/** The milliseconds of a day. */
export const day = 86_400_000
/** Noon of a day, so that no test comes near its end. */
export const noon = Math.floor(Date.now() / day) * day + day / 2

/** A notice as it came. */
type Got = Readonly<{
  id: string
  type: string
  data: Record<string, unknown>
  headers: IncomingHttpHeaders
  body: string
}>

/** A receiver on a real socket: notes what comes, and answers what the test says. */
export async function startReceiver(
  t: Test,
  answer: (nth: number) => number | 'hang' = () => 204,
  headersOf: (nth: number) => Record<string, string> = () => ({}),
) {
  const got: Got[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (text: Buffer) => (body += text.toString()))
    request.on('end', () => {
      const { headers } = request
      const { type, data } = JSON.parse(body) as Pick<Got, 'type' | 'data'>
      got.push({ id: String(headers['webhook-id']), type, data, headers, body })
      const status = answer(got.length)
      if (status === 'hang') return
      const more = headersOf(got.length)
      response.writeHead(status, { location: '/elsewhere', ...more }).end('thanks')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const types = () => got.map(({ type }) => type)
  return { got, types, url: `http://127.0.0.1:${port}/hook` }
}

/** The entry of a receiver in the configuration. */
export function entry(url: string, more = ''): string {
  return `{ to: "${url}", secret: "${secret}"${more} }`
}

/** A clock that a test moves, which goes on with the real one. */
export function movable() {
  let aheadMs = noon - Date.now()
  return {
    clock: () => Date.now() + aheadMs,
    move: (ms: number) => void (aheadMs += ms),
  }
}

/** Plans with a short day. */
export const few =
  'plans: { free: { perMinute: unlimited, perDay: 20 }, pro: { perMinute: 9999, perDay: 40 } }'
