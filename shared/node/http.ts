import { createRequire } from 'node:module'
import type * as Http from 'node:http'

// An `import` of node:http asks for all that it exports, and its WebSocket brings a whole client of HTTP: 0.09 s and 14 MB
// of each process, for nothing that is used here. `require` brings what is asked for.
const http = createRequire(import.meta.url)('node:http') as typeof Http

export const { METHODS, STATUS_CODES, IncomingMessage, ServerResponse, createServer } = http
export type IncomingMessage = Http.IncomingMessage
export type ServerResponse = Http.ServerResponse
