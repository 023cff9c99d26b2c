import type { FastifyRequest } from 'fastify'
import { becomesWebSocket } from '../../../shared/node/upgrade.ts'

const name = 'ticket='

/** The ticket of a target's query, and the target without it, byte for byte. */
export type TicketInQuery = Readonly<{
  /** `undefined` where there are several. */
  ticket: string | undefined
  target: string
}>

export function ticketInQuery(target: string): TicketInQuery | undefined {
  const from = target.indexOf('?')
  if (from < 0 || !target.includes(name, from)) return undefined
  const members = target.slice(from + 1).split('&')
  const [first, ...others] = members.filter((member) => member.startsWith(name))
  if (first === undefined) return undefined
  const rest = members.filter((member) => !member.startsWith(name)).join('&')
  const path = target.slice(0, from)
  return {
    ticket: others.length === 0 ? first.slice(name.length) : undefined,
    target: rest === '' ? path : `${path}?${rest}`,
  }
}

/** Whether a request may have a ticket: browsers send no headers with WebSockets and streams of events. */
export function mayHaveTicket({ method, headers, raw }: FastifyRequest): boolean {
  const { accept = '' } = headers
  if (method !== 'GET') return false
  return (
    becomesWebSocket(raw) ||
    accept.split(',').some((type) => /^\s*text\/event-stream\s*(?:;|$)/i.test(type))
  )
}
