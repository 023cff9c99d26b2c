import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Route } from '../config/config.ts'
import type { Outgoing } from './attempt.ts'

/** Headers of an answer, by their names in lower case. */
export type Headers = Record<string, string | string[]>

/** The answer to a caller, on its way, and all that is needed to ask again. */
export type Exchange = Pick<Outgoing, 'method' | 'target' | 'host' | 'callerId'> &
  Readonly<{
    /** Whether cookies of the caller went along, which no other backend gets. */
    hasCookies: boolean
    requestId: string
    route: Route
    status: number
    /** The headers that the caller gets. */
    headers: Headers
    body: Buffer | Readable | undefined
    response: ServerResponse
    /** The time to the first byte. */
    ms: number
    /** The headers of a request to the backend with this id, signed now. */
    headersFor: (requestId: string) => string[]
  }>

/** Looks on at answers while a comparison of backends runs. It changes nothing, and holds nothing up. */
export interface Onlooker {
  /** Whether a request is drawn for the sample. */
  draws(upstream: string, method: string): boolean
  /** Follows the answer to a request that was drawn. */
  follow(exchange: Exchange): void
}

/** The place of the onlooker: every forwarded request looks at this field. */
export type OnlookerSlot = { current: Onlooker | undefined }
