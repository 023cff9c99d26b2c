import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { startUpstream, type Upstream } from './gateway.ts'

type Message = Readonly<{ id?: number; method: string }>

const version = '2025-06-18'

/** An MCP server at `/mcp`, with the transport "streamable HTTP" and one session. */
export function startMcp(t: Test, session: string): Promise<Upstream> {
  return startUpstream(t, (request, response) => void answer(request, response, session))
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  session: string,
): Promise<void> {
  const { method, headers } = request
  const isKnown = headers['mcp-session-id'] === session
  if (method === 'GET' || method === 'DELETE') {
    if (!isKnown) response.writeHead(404).end()
    else if (method === 'DELETE') response.writeHead(204).end()
    else {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      sendEvent(response, { method: `notifications/after/${String(headers['last-event-id'])}` })
    }
    return
  }
  const { id, method: asked } = JSON.parse(await text(request)) as Message
  if (asked === 'initialize') {
    response.setHeader('mcp-session-id', session)
    const result = { protocolVersion: version, capabilities: { tools: {} }, serverInfo: {} }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  } else if (!isKnown || headers['mcp-protocol-version'] !== version) {
    response.writeHead(400).end()
  } else if (id === undefined) response.writeHead(202).end()
  else {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    sendEvent(response, { id, result: { content: [{ type: 'text', text: asked }] } })
    response.end()
  }
}

function sendEvent(response: ServerResponse, message: object): void {
  response.write(`id: 7\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
}
