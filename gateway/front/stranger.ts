import type { FastifyReply, FastifyRequest } from 'fastify'
import { keepShortly } from '../../shared/node/quiet.ts'
import type { Refusal } from '../../shared/refusal.ts'
import { clientAddress, type Ranges } from './http/address.ts'
import type { Strangers } from './limits/strangers.ts'
import { refuse } from './request-record.ts'

/** How long an idle connection stays open after a stranger was refused on it. */
const strangersIdleMs = 5_000

/** Finds the address of a request's sender, behind trusted proxies. */
export type AddressOf = (request: FastifyRequest) => string

export function addressFinder(trustedProxies: Ranges): AddressOf {
  return ({ raw }) => clientAddress(raw, trustedProxies)
}

/** Refuses a request without a valid key with `why`, or with 429 if its address sent too many. Counts it. */
export type RefuseStranger = (
  request: FastifyRequest,
  reply: FastifyReply,
  why: () => Refusal,
) => void

export function strangerRefuser(strangers: Strangers, addressOf: AddressOf): RefuseStranger {
  return (request, reply, why) => {
    const { refusal, standing } = strangers.refuse(addressOf(request), why)
    if (request.tollgate) request.tollgate.standing = standing
    keepShortly(reply.raw, request.raw.socket, strangersIdleMs)
    void refuse(reply, refusal)
  }
}
