import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { banTime } from '../operations/values.ts'
import { banView } from '../operations/views.ts'
import type { AdminContext } from './context.ts'
import { read, requireNothing, textKind } from './body.ts'

const ban = Type.Object(
  { for: textKind(banTime) },
  { additionalProperties: false, expected: 'an object such as { "for": "30m" }' },
)

type OfKey = { Params: { id: string } }

/** Bans and quotas, as the command line has them. */
export function addQuotas(app: FastifyInstance, { desks }: AdminContext): void {
  app.get('/admin/bans', async ({ admin }) => (await desks(admin).quotas.bans()).map(banView))

  app.put<OfKey>('/admin/bans/:id', async ({ params, body, admin }) => {
    const { for: lasts } = read(body, ban)
    const { keys, quotas } = desks(admin)
    const { key } = await keys.find(params.id)
    return banView(await quotas.ban(key.id, banTime.read(lasts) ?? 0))
  })

  app.delete<OfKey>('/admin/bans/:id', async ({ params, body, admin }, reply) => {
    requireNothing(body)
    const { keys, quotas } = desks(admin)
    await quotas.lift((await keys.find(params.id)).key.id)
    return reply.code(204).send()
  })

  app.get<OfKey>('/admin/quota/:id', async ({ params, admin }) => {
    const { keys, quotas } = desks(admin)
    return quotas.show((await keys.find(params.id)).key.id)
  })

  app.post<OfKey>('/admin/quota/:id/reset', async ({ params, body, admin }) => {
    requireNothing(body)
    const { keys, quotas } = desks(admin)
    const { id } = (await keys.find(params.id)).key
    await quotas.reset(id)
    return quotas.show(id)
  })
}
