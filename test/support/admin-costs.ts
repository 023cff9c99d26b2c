import type { Test } from 'tap'
import { start } from './admin-contract.ts'
import { startUpstream } from './gateway.ts'
import { until } from './until.ts'

/** What is told of a request whose answer tells its cost. */
export async function askCosts(t: Test): Promise<void> {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(500, { 'X-Gateway-Cost': '7' }).end('{}')
  })
  const { ask, gateway } = await start(t, {
    upstream,
    routes: '[ { path: /v1/*, upstream: animals, cost: { estimate: 2, from: answer } } ]',
  })
  const perDay = { limit: 1, beyond: 'meter', upTo: '900%' } as const
  const { headers, key } = await gateway.key({ limits: { perDay }, reference: 'cus_1' })
  await gateway.call('GET', '/v1/x', undefined, { ...headers, 'x-request-id': key.id })
  t.match((await ask('GET', '/admin/keys')).text, '"upTo":"900%"')
  await until(async () => (await ask('GET', `/admin/quota/${key.id}`)).text.includes('"beyond":6'))
  for (const path of ['/admin/usage', '/admin/ledger', `/admin/requests/${key.id}`]) {
    await until(async () => (await ask('GET', path)).text.includes('"estimate'))
  }
}
