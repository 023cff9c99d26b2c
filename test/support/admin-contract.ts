import { join } from 'node:path'
import type { Test } from 'tap'
import { startAdmin, type AdminOptions } from './admin.ts'
import { startUpstream } from './gateway.ts'
import type { Call } from './http.ts'
import { writtenCall } from './openapi-asks.ts'
import { contractOf } from './openapi.ts'
import { root } from './process.ts'
import { until } from './until.ts'

/** The document of the admin address. */
export const file = join(root, 'config/openapi/admin.yaml')

/** It, held against the answers of all tests of a file. */
export const contract = contractOf(file)

/** All that it documents. */
export const { operations } = contract

/** Operations of the console: its session takes the place of a token, and is no operation of the table. */
export const ofConsole = operations.filter(({ path }) => path.startsWith('/console'))

/** All others. */
export const ofApi = operations.filter((each) => !ofConsole.includes(each))

/** Operations that need no token. */
export const open = ofApi.filter(({ isOpen }) => isOpen)

/** Operations that need a token. */
export const guarded = ofApi.filter(({ isOpen }) => !isOpen)

/** Operations on one key, or one request. */
export const single = guarded.filter(({ path }) => path.includes('{id}'))

/** Operations that may take a body. */
export const bodied = guarded.filter(({ method }) => method !== 'GET' && method !== 'HEAD')

/** Documented operations that ask the store. */
export const stored = guarded.filter(
  ({ path, responses }) => '503' in responses && path !== '/admin/live',
)

/** Changes of a key that exists. */
export const edits = bodied.filter(({ path }) => path.startsWith('/admin/keys/{id}'))

/** Saving the file needs a header that names its version. */
export const isSave = ({ method, path }: { method: string; path: string }): boolean =>
  method === 'PUT' && path === '/admin/config/file'

/** An admin address where the file may be read and saved. */
export const withSave = '{ host: 127.0.0.1, port: 0, save: true }'

/** An id that no key has. */
export const nobody = 'k3yVb0TQnW8e'

/** Limits of the windows that a plan needn't limit, which nothing reaches. */
export const manyOfOptional = { perSecond: 1_000, perHour: 1_000, perWeek: 1_000, perMonth: 1_000 }

/** The result of `start`. */
export type Admin = Awaited<ReturnType<typeof start>>

/** A gateway and its admin address; each answer to an operator is held to the document. */
export async function start(t: Test, options: AdminOptions = {}) {
  const upstream = options.upstream ?? (await startUpstream(t))
  // To the same server by another name.
  const to = upstream.url.replace('127.0.0.1', 'localhost')
  const swap = `swap: { to: ["${to}"], steps: [50], every: 1h }`
  // Nobody listens there.
  const hook = '{ to: http://127.0.0.1:1, secret: sixteen characters, about: [key.created] }'
  const more = `${options.more ?? ''}\nnotices: [ ${hook} ]`
  const admin = await startAdmin(t, { upstreamMore: swap, ...options, upstream, more })
  const ask = contract.held(t, admin.ask)
  const written = (version: string, lines: string): Call =>
    contract.held(t, writtenCall(admin.url, version, lines))
  const { call, key, app } = admin.gateway
  /** The id of a new key, and of a request that was refused. */
  const fresh = async () => {
    const { id } = (await key({ limits: manyOfOptional })).key
    await call('GET', '/v1/pets', undefined, { 'x-request-id': id })
    await until(() => app.front.recentRefusals.find(id).length > 0)
    return id
  }
  return { ...admin, operate: contract.held(t, admin.operate), ask, written, fresh }
}
