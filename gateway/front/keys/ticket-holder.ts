import type { FastifyRequest } from 'fastify'
import type { Refusal } from '../../../shared/refusal.ts'
import { mayHaveTicket, type TicketInQuery } from '../http/ticket-in-query.ts'
import type { TokenOf } from '../http/token-source.ts'
import { ticketRefusals } from './refusals.ts'
import type { Tickets } from './tickets.ts'

/** The token for which a request's ticket stands, which is taken and cut out of its query; else how it is refused. */
export async function tokenForTicket(
  tickets: Tickets,
  tokenOf: TokenOf,
  request: FastifyRequest,
  { ticket, target }: TicketInQuery,
): Promise<string | (() => Refusal)> {
  const token = tokenOf(request)
  const isAlone = typeof token !== 'string' && token.why === 'missing'
  if (ticket === undefined || !isAlone) return ticketRefusals.beside
  if (!mayHaveTicket(request)) return ticketRefusals.misplaced
  const taken = await tickets.take(ticket)
  if (taken === undefined) return ticketRefusals.spent
  request.raw.url = target
  if (request.query && typeof request.query === 'object') {
    delete (request.query as Record<string, unknown>)['ticket']
  }
  return taken
}
