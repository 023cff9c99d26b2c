import { Agent, request as ask } from 'undici'
import { startUpstream, type Upstream } from './gateway.ts'
import type { Ends } from './redis.ts'

/** A server that asks others in turn, as a balancer does before a fleet. */
export async function startBalancer(t: Ends, urls: readonly string[]): Promise<Upstream> {
  const dispatcher = new Agent({ pipelining: 1 })
  t.teardown(() => dispatcher.destroy())
  let n = 0
  return startUpstream(t, ({ url, headers }, response) => {
    const to = urls[n++ % urls.length] ?? ''
    ask(to + url, { dispatcher, headers: { ...headers, connection: undefined } }).then(
      ({ statusCode, headers, body }) => body.pipe(response.writeHead(statusCode, headers)),
      () => response.destroy(),
    )
  })
}
