import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { plainName } from '../../gateway/front/forwarding/withheld-headers.ts'
import { startUpstream, type Upstream } from './gateway.ts'
import { pause } from './traffic.ts'

type Asked = Readonly<{
  model: string
  messages: readonly Readonly<{ role: string; content: string }>[]
  stream?: boolean
  stream_options?: Readonly<{ include_usage?: boolean }>
}>

type Usage = Readonly<{ prompt_tokens: number; completion_tokens: number; total_tokens: number }>

/**
 * A server of models: `POST /v1/chat/completions` as such servers document it, whole or as events. Its model says the last
 * message again, and a word is a token.
 */
export function startModels(t: Test): Promise<Upstream> {
  return startUpstream(t, (request, response) => void answer(request, response))
}

/**
 * The same for those with a key: each of these headers must come once in all spellings, with just this value, or it is 401, also at
 * `/healthz` and for a WebSocket at `/v1/realtime`. `refused` has the requests that were 401.
 */
export async function startModelsWithKey(t: Test, key: Readonly<Record<string, string>>) {
  const refused: IncomingMessage[] = []
  const mayPass = (request: IncomingMessage): boolean => {
    const isTold = Object.entries(key).every(([name, value]) => {
      const [one, ...others] = valuesOf(request, name)
      return one === value && others.length === 0
    })
    if (!isTold) refused.push(request)
    return isTold
  }
  const upstream = await startUpstream(t, (request, response) => {
    if (!mayPass(request)) response.writeHead(401).end('{"error":{"code":"invalid_api_key"}}')
    else if (request.method === 'POST') void answer(request, response)
    else response.setHeader('content-type', 'application/json').end('{"data":[]}')
  })
  upstream.server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    upstream.seen.push(request)
    socket.on('error', () => undefined)
    if (!mayPass(request)) return socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
    const asked = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(asked).digest('base64')
    socket.end(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        `Sec-WebSocket-Accept: ${accept}\r\n\r\n\x81\x02hi\x88\x00`,
      'latin1',
    )
  })
  return { ...upstream, refused }
}

/** The values that a request has for a header, in any spelling. */
export function valuesOf({ rawHeaders }: IncomingMessage, name: string): string[] {
  return rawHeaders.filter(
    (_each, i) => i % 2 === 1 && plainName(rawHeaders[i - 1] ?? '') === plainName(name),
  )
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const asked = JSON.parse(await text(request)) as Asked
  const words = wordsOf(asked.messages.at(-1)?.content ?? '')
  const prompt = asked.messages.reduce((sum, { content }) => sum + wordsOf(content).length, 0)
  const usage = usageOf(prompt, words.length)
  if (asked.stream) await stream(response, asked, words, usage)
  else whole(request, response, { asked, words, usage })
}

function wordsOf(content: string): string[] {
  return content.split(/\s+/).filter(Boolean)
}

function usageOf(prompt: number, completion: number): Usage {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  }
}

type Reply = Readonly<{ asked: Asked; words: readonly string[]; usage: Usage }>

function whole(
  { headers }: IncomingMessage,
  response: ServerResponse,
  { asked, words, usage }: Reply,
): void {
  const message = { role: 'assistant', content: words.join(' ') }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  const body = Buffer.from(JSON.stringify({ ...about(asked, 'chat.completion'), choices, usage }))
  const isPacked = /\bgzip\b/.test(headers['accept-encoding'] ?? '')
  response.setHeader('content-type', 'application/json')
  if (isPacked) response.setHeader('content-encoding', 'gzip')
  response.end(isPacked ? gzipSync(body) : body)
}

/** A word an event; then the usage in an event without choices, if it is asked for. */
async function stream(
  response: ServerResponse,
  asked: Asked,
  words: readonly string[],
  usage: Usage,
): Promise<void> {
  const hasUsage = asked.stream_options?.include_usage === true
  const send = (choices: readonly object[], told: Usage | null): void => {
    const event = { ...about(asked, 'chat.completion.chunk'), choices }
    response.write(`data: ${JSON.stringify(hasUsage ? { ...event, usage: told } : event)}\n\n`)
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  for (const [i, word] of words.entries()) {
    const isLast = i === words.length - 1
    const delta = { content: isLast ? word : `${word} ` }
    send([{ index: 0, delta, finish_reason: isLast ? 'stop' : null }], null)
    await pause(20)
  }
  if (hasUsage) send([], usage)
  response.end('data: [DONE]\n\n')
}

function about({ model }: Asked, object: string) {
  return { id: 'chatcmpl-1', object, created: Math.floor(Date.now() / 1_000), model }
}
