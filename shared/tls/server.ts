import type { RequestListener, Server, ServerOptions } from 'node:http'
import {
  createServer as createTlsServer,
  Server as TlsServer,
  type ServerOptions as TlsServerOptions,
} from 'node:https'
import type { SecureContextOptions } from 'node:tls'
import { createServer } from '../node/http.ts'
import type { TlsBounds } from './files.ts'
import type { FollowedTls } from './followed.ts'

/** The time limit of a handshake. */
export const handshakeMs = 5_000

/** The oldest version that is spoken unless a newer one is set, whatever Node is told by its options. */
const minVersion = 'TLSv1.2'

/** The ciphers of TLS 1.3, which Node would switch off where a list has none of them. */
const newestCiphers = 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256'

/** Makes a server of HTTP/1.1: by TLS with some options for it, and in plain text otherwise. */
export function httpServer(
  options: ServerOptions,
  tls?: TlsServerOptions,
  take?: RequestListener,
): Server {
  if (!tls) return createServer(options, take)
  const server = createTlsServer(
    { ALPNProtocols: ['http/1.1'], minVersion, ...tls, ...options, handshakeTimeout: handshakeMs },
    take,
  )
  // Node would take these for malformed requests, which are answered.
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  return server
}

/** Makes a server by TLS whose certificate is followed: connections that are open aren't touched by a new one. */
export function followedServer(
  options: ServerOptions,
  tls: FollowedTls,
  take?: RequestListener,
): Server {
  const asksClients = tls.texts.ca !== undefined
  const server = httpServer(options, { requestCert: asksClients }, take)
  if (server instanceof TlsServer) {
    const bounds = contextBounds(tls.bounds)
    tls.use((texts) => server.setSecureContext({ ...texts, ...bounds }))
  }
  return server
}

function contextBounds({ minVersion: least, ciphers }: TlsBounds): SecureContextOptions {
  return {
    minVersion: least === 1.3 ? 'TLSv1.3' : minVersion,
    ...(ciphers === undefined ? {} : { ciphers: `${newestCiphers}:${ciphers}` }),
  }
}

/** The event by which a server tells of a connection that speaks HTTP: with TLS it comes after the handshake. */
export function connectionEvent(server: Server): 'connection' | 'secureConnection' {
  return server instanceof TlsServer ? 'secureConnection' : 'connection'
}
