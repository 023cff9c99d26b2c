import got from 'got'
import ky from 'ky'
import t from 'tap'
import { Agent, RetryAgent, request } from 'undici'
import { json } from '../support/http.ts'
import { startGateway } from '../support/gateway.ts'
import { bound } from '../support/promises.ts'

// Clients that we didn't write, as their users have them, through a key with sixty requests a minute:
// a batch of a hundred ends well, because they wait as long as Retry-After says.

const batch = 100

type Client = (url: string, headers: Record<string, string>) => Promise<number>

// By itself it waits for 30 s at most, which is too early for a minute that has just begun.
const retry = { maxRetries: 5, statusCodes: [429], maxTimeout: 60_000 }
const agent = new RetryAgent(new Agent({ connections: 16 }), retry)

const clients: Record<string, Client> = {
  got: async (url, headers) => (await got(url, { headers })).statusCode,
  ky: async (url, headers) => (await ky(url, { headers, timeout: 120_000 })).status,
  'undici’s RetryAgent': async (url, headers) => {
    const { statusCode, body } = await request(url, { dispatcher: agent, headers })
    await body.dump()
    return statusCode
  },
}

t.test('clients that honour Retry-After finish a batch, and are not banned', async (t) => {
  // The gateway's clock says that its minute ends soon, so that no wait is longer, but not before all have asked once: a batch
  // that begins with a minute waits for most of it.
  const leftMs = Math.min(25_000, bound(1_400))
  const offset = 60_000 - leftMs - (Date.now() % 60_000)
  // A busy machine sends a batch for longer than a second, so that its last ones come long after the first refusal.
  const more = 'bans: { grace: 30s }'
  const { url, key, call } = await startGateway(t, { clock: () => Date.now() + offset, more })
  t.teardown(() => agent.close())
  await Promise.all(
    Object.entries(clients).map(async ([name, client]) => {
      const { headers } = await key({ name })
      const started = performance.now()
      const asked = Array.from({ length: batch }, () => client(`${url}/v1/pets`, headers))
      const statuses = await Promise.all(asked)
      t.ok(
        statuses.every((status) => status === 200),
        `${name}: all ${batch} in ${((performance.now() - started) / 1000).toFixed(1)} s`,
      )
      const view = json(await call('GET', '/v1/quota', undefined, headers))
      t.match(
        view,
        { bannedUntil: null, day: { remaining: 1_000 - batch } },
        `${name}: charged for exactly these`,
      )
    }),
  )
})
