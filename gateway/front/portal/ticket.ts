import { Refusal } from '../../../shared/refusal.ts'
import { mostTickets, Tickets, type AllOpen } from '../keys/tickets.ts'
import { secondsToWait } from '../limits/headers.ts'
import { refuse, type Answer } from '../request-record.ts'
import type { OwnOptions } from './own-options.ts'
import { refusalForFailure } from './refusals.ts'

/** A ticket for one request, told once, and the Unix second in which it ends. */
export type OwnTicket = Readonly<{ ticket: string; expires: number }>

/** Answers `POST /v1/ticket`: a ticket for what can't send a header, with the rights of the key or the JWT that asks. */
export function ticketAnswer({ stores, tokenOf }: OwnOptions): Answer {
  const tickets = new Tickets(stores.documents)
  return async (request, reply) => {
    const { caller } = request.tollgate ?? {}
    const token = tokenOf(request)
    if (!caller || typeof token !== 'string') throw new Error('a ticket comes after authenticate')
    try {
      const issued = await tickets.issue(caller.quota, token)
      if (!('ticket' in issued)) return refuse(reply, allOpen(issued))
      const told: OwnTicket = {
        ticket: issued.ticket,
        expires: Math.floor(issued.untilMs / 1_000),
      }
      return reply.code(201).header('cache-control', 'no-store').send(told)
    } catch (error) {
      return refuse(reply, refusalForFailure(error))
    }
  }
}

function allOpen({ nowMs, endsAtMs }: AllOpen): Refusal {
  const sentence = `${mostTickets} tickets are open. Use one, or wait until one has ended.`
  const headers = {
    'retry-after': String(secondsToWait(endsAtMs, nowMs)),
    'cache-control': 'no-store',
  }
  return new Refusal('rate_limit_exceeded', sentence, headers).because('pace')
}
