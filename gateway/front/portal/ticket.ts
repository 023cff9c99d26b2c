import { mostTickets, Tickets } from '../keys/tickets.ts'
import type { Answer } from '../request-record.ts'
import type { OwnOptions } from './own-options.ts'
import { telling, tooOften } from './refusals.ts'

/**
 * Answers `POST /v1/ticket`: a ticket for what can't send a header, with the rights of the key or the JWT that asks. It is told
 * once, with the Unix second in which it ends.
 */
export function ticketAnswer({ stores, tokenOf }: OwnOptions): Answer {
  const tickets = new Tickets(stores.documents)
  return telling(201, async (request) => {
    const { caller } = request.tollgate ?? {}
    const token = tokenOf(request)
    if (!caller || typeof token !== 'string') throw new Error('a ticket comes after authenticate')
    const issued = await tickets.issue(caller.quota, token)
    if ('ticket' in issued) {
      return { ticket: issued.ticket, expires: Math.floor(issued.untilMs / 1_000) }
    }
    const sentence = `${mostTickets} tickets are open. Use one, or wait until one has ended.`
    return tooOften(sentence, issued.endsAtMs, issued.nowMs)
  })
}
