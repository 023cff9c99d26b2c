import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import type { Test } from 'tap'
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
