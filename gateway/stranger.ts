import type { FastifyReply, FastifyRequest } from 'fastify'
import { keepShortly } from '../shared/node/quiet.ts'
import type { Refusal } from '../shared/refusal.ts'
import { clientAddress, type Ranges } from './http/address.ts'
import type { Strangers } from './limits/strangers.ts'
import { refuse } from './request-record.ts'

/** How long a connection stays open on which a stranger has been refused, and asks nothing. */
const strangersIdleMs = 5_000

/** The address that a request comes from, as far as the proxies in front are believed. */
export type AddressOf = (request: FastifyRequest) => string

export function addressFinder(trustedProxies: Ranges): AddressOf {
  return ({ raw }) => clientAddress(raw, trustedProxies)
}

/** Refuses whoever can't be known, and counts it against the address: for what it lacks, or with 429. */
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
