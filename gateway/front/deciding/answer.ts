import type { onSendHookHandler } from 'fastify'
import type { Clock } from '../../../shared/clock.ts'
import type { Sign } from '../../../shared/signature.ts'
import type { Config } from '../config/config.ts'
import { callerHeaders } from '../forwarding/headers.ts'
import type { Answer } from '../request-record.ts'

/** Puts links into one line: of several, nginx copies the first alone. */
export const joinLinks: onSendHookHandler = (_request, reply, payload, done) => {
  const links = reply.getHeader('link')
  if (Array.isArray(links)) reply.header('link', links.join(', '))
  done(null, payload)
}

export type DecidedOptions = Readonly<{
  jwt: Config['jwt']
  sign: Sign | undefined
  clock: Clock
}>

/**
 * The end of a request that is only decided: 200 with what a backend is told of the caller, in place of forwarding it. Each header
 * that a caller could have is there, empty where there is nothing: a proxy that copies it replaces what the caller has sent.
 */
export function decided({ jwt, sign, clock }: DecidedOptions): Answer {
  const claims = jwt.flatMap(({ forward }) => forward.map(([header]) => header))
  const names = new Set(['x-caller-account', 'x-caller-reference', ...claims])
  const empty = Object.fromEntries([...names].map((name) => [name, '']))
  return (request, reply) => {
    const { tollgate: record, id, method, originalUrl: target } = request
    if (!record) throw new Error('a decision comes after follow')
    const { own, claims } = callerHeaders(record, id)
    const fields = [...own, ...(claims ?? [])]
    const signed = sign?.({ method, target, fields }, clock()) ?? []
    reply.headers({ ...empty, 'content-length': '0' })
    const all = [...fields, ...signed]
    for (let i = 0; i + 1 < all.length; i += 2) reply.header(all[i] ?? '', all[i + 1])
    return reply.code(200).send()
  }
}
