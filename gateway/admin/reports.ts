import type { FastifyInstance } from 'fastify'
import { callsCsv, deprecatedCalls } from '../records/deprecated-calls.ts'
import { dayMs } from '../limits/step.ts'
import { latestDays, usage } from '../records/usage.ts'
import { rememberedDays } from '../records/tally-store.ts'
import { dayCount, lineCount, usualLines } from '../operations/values.ts'
import { auditView, callsView } from '../operations/views.ts'
import type { AdminContext } from './context.ts'
import { valueOf } from './query.ts'

const days = { config: { parameters: ['days'] } }
const lines = { config: { parameters: ['days', 'limit', 'key'] } }

type Query = { Querystring: { days?: string; limit?: string; key?: string } }

/** What was done: by callers, and by operators. */
export function addReports(app: FastifyInstance, { gateway, desks, clock }: AdminContext): void {
  const { stores, tallying } = gateway.core
  const daysOf = (text = String(rememberedDays)) =>
    latestDays(valueOf('days', text, dayCount), clock())

  app.get<Query>('/admin/usage', days, async ({ query }) => {
    await tallying.flush()
    return usage(stores, daysOf(query.days))
  })

  app.get<Query & { Params: { id: string } }>(
    '/admin/usage/:id',
    days,
    async ({ params, query, admin }) => {
      const { id } = (await desks(admin).keys.find(params.id)).key
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

  app.get<Query>('/admin/audit', lines, async ({ query, admin }) => {
    const { days, limit = String(usualLines), key } = query
    const entries = await stores.audit.list({
      fromMs: daysOf(days).fromDay * dayMs,
      limit: valueOf('limit', limit, lineCount),
      subject: key === undefined ? undefined : await desks(admin).keys.subjectOf(key),
    })
    return entries.map(auditView)
  })
}
