import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { Refusal } from '../../shared/refusal.ts'
import type { Gateway } from '../server.ts'
import { holdAgainst } from '../forwarding/probe.ts'
import { isTargetUrl } from '../forwarding/target-url.ts'
import type { AdminContext } from './context.ts'
import { read } from './body.ts'

const wouldBe = Type.Object(
  {
    url: Type.Refine(
      Type.String({ expected: 'an http or https URL without a path' }),
      isTargetUrl,
      () => 'must be an http or https URL without a path',
    ),
    upstream: Type.Optional(Type.String({ expected: 'the name of an upstream' })),
  },
  { additionalProperties: false, expected: 'an object such as { "url": "http://10.0.0.9:8090" }' },
)

/** What stands behind the gateway, and what might. */
export function addUpstreams(app: FastifyInstance, { gateway, secret }: AdminContext): void {
  app.get('/admin/upstreams', () => upstreamStates(gateway))

  app.post('/admin/upstreams/check', async ({ body }) => {
    const { url, upstream: named } = read(body, wouldBe)
    const { config } = gateway
    const names = [...config.upstreams.keys()]
    const name = named ?? (names.length === 1 ? names[0] : undefined)
    const upstream = config.upstreams.get(name ?? '')
    if (!upstream) {
      throw new Refusal('invalid_request', `upstream must be one of ${names.join(', ')}.`)
    }
    const comparison = await holdAgainst(url, { config, upstream, secret })
    return { url, upstream: upstream.name, ...comparison }
  })
}

/** Each upstream with its targets: whether they are fit to be asked. */
export function upstreamStates({ config, core }: Gateway) {
  return Object.fromEntries(
    [...config.upstreams].map(([name, settings]) => {
      const targets = core.upstreams.see(settings)?.targets ?? []
      const states = targets.map(({ origin, weight, isFit, refusesSignature }) => [
        origin,
        { healthy: isFit, weight, ...(refusesSignature ? { refusesSignature } : {}) },
      ])
      return [name, Object.fromEntries(states)]
    }),
  ) as Record<string, Record<string, { healthy: boolean; weight: number }>>
}
