import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { durationFrom } from '../config/units.ts'
import { banView } from '../views.ts'
import type { AdminContext } from './context.ts'
import { read, requireNothing } from './body.ts'

const duration = Type.Refine(
  Type.String({ expected: 'a duration such as 30m or 24h' }),
  (value) => (durationFrom(value) ?? 0) > 0,
  () => 'must be a duration such as 30m or 24h',
)
const ban = Type.Object(
  { for: duration },
  { additionalProperties: false, expected: 'an object such as { "for": "30m" }' },
)

type OfKey = { Params: { id: string } }

/** Bans and quotas, as the command line has them. */
export function addQuotas(app: FastifyInstance, { desks }: AdminContext): void {
  app.get('/admin/bans', async ({ admin }) => (await desks(admin).quotas.bans()).map(banView))

  app.put<OfKey>('/admin/bans/:id', async ({ params, body, admin }) => {
    const { for: lasts } = read(body, ban)
    return banView(await desks(admin).quotas.ban(params.id, durationFrom(lasts) ?? 0))
  })

  app.delete<OfKey>('/admin/bans/:id', async ({ params, body, admin }, reply) => {
    requireNothing(body)
    await desks(admin).quotas.lift(params.id)
    return reply.code(204).send()
  })

  app.get<OfKey>('/admin/quota/:id', ({ params, admin }) => desks(admin).quotas.show(params.id))

  app.post<OfKey>('/admin/quota/:id/reset', async ({ params, body, admin }) => {
    requireNothing(body)
    await desks(admin).quotas.reset(params.id)
    return desks(admin).quotas.show(params.id)
  })
}
