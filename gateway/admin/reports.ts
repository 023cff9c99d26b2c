import type { FastifyInstance } from 'fastify'
import { callsCsv, deprecatedCalls } from '../records/deprecated-calls.ts'
import { usage } from '../records/usage.ts'
import { auditView, callsView } from '../views.ts'
import type { AdminContext } from './app.ts'
import { wholeNumber } from './query.ts'

const dayMs = 86_400_000

const days = { config: { parameters: ['days'] } }
const lines = { config: { parameters: ['days', 'limit', 'key'] } }

type Query = { Querystring: { days?: string; limit?: string; key?: string } }

/** What was done: by callers, and by operators. */
export function addReports(app: FastifyInstance, { gateway, desks, clock }: AdminContext): void {
  const { stores, tallying } = gateway.core
  const daysOf = (text = '90') => {
    const toDay = Math.floor(clock() / dayMs)
    return { fromDay: toDay - wholeNumber('days', text, 90) + 1, toDay }
  }

  app.get<Query>('/admin/usage', days, async ({ query }) => {
    await tallying.flush()
    return usage(stores, daysOf(query.days))
  })

  app.get<Query & { Params: { id: string } }>(
    '/admin/usage/:id',
    days,
    async ({ params, query, admin }) => {
      const { id } = await desks(admin).keys.show(params.id)
      await tallying.flush()
      return usage(stores, { ...daysOf(query.days), key: id })
    },
  )

  app.get<Query>('/admin/deprecations', days, async ({ query, headers }, reply) => {
    const { fromDay, toDay } = daysOf(query.days)
    await tallying.flush()
    const calls = await deprecatedCalls(stores, fromDay, toDay)
    return headers.accept?.startsWith('text/csv')
      ? reply.type('text/csv; charset=utf-8').send(callsCsv(calls))
      : calls.map(callsView)
  })

  app.get<Query>('/admin/audit', lines, async ({ query }) => {
    const { days, limit = '100', key } = query
    const entries = await stores.audit.list({
      fromMs: daysOf(days).fromDay * dayMs,
      limit: wholeNumber('limit', limit, 10_000),
      subject: key,
    })
    return entries.map(auditView)
  })
}
