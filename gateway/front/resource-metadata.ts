import type { FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { plainAddress, type Ranges } from './http/address.ts'
import { resourcePath } from './http/own-paths.ts'
import type { Config } from './config/config.ts'
import type { Answer } from './request-record.ts'

/** Finds where the gateway says of itself whose tokens it takes: a URL; `undefined` of a request without a host. */
export type ResourceMetadataOf = (request: FastifyRequest) => string | undefined

/** The origin that a request has asked. Only a trusted proxy is believed that it was asked by another scheme. */
function originAsked({ headers, socket }: IncomingMessage, trusted: Ranges): string | undefined {
  const { host } = headers
  if (host === undefined) return undefined
  const isProxied = trusted.has(plainAddress(socket.remoteAddress ?? ''))
  const told = isProxied ? headers['x-forwarded-proto']?.toString().split(',', 1)[0]?.trim() : ''
  const own = 'encrypted' in socket ? 'https' : 'http'
  const scheme = told?.toLowerCase() === 'https' || told === 'http' ? told.toLowerCase() : own
  return `${scheme}://${host.toLowerCase()}`
}

export function resourceMetadataOf(trusted: Ranges): ResourceMetadataOf {
  return ({ raw }) => {
    const origin = originAsked(raw, trusted)
    return origin && origin + resourcePath
  }
}

/** Answers clients that look for whom to ask for tokens (RFC 9728). */
export function resourceAnswer({ jwt, routes }: Config, trusted: Ranges): Answer {
  const scopes = new Set(routes.flatMap((route) => [...(route.scopes?.values() ?? [])].flat()))
  const metadata = {
    authorization_servers: [...new Set(jwt.map(({ issuer }) => issuer))],
    ...(scopes.size > 0 ? { scopes_supported: [...scopes] } : {}),
    bearer_methods_supported: ['header'],
  }
  return ({ raw }, reply) =>
    reply
      .header('cache-control', 'no-store')
      .send({ resource: originAsked(raw, trusted), ...metadata })
}
