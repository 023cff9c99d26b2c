import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { generateText, streamText } from 'ai'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { json } from '../support/http.ts'
import { recipes } from '../support/recipes.ts'
import { until } from '../support/until.ts'

// The SDKs of models, as their users have them, against APIs that answer as the page about tokens shows.

const [chat, responses, messages] = recipes()
const plenty = { perMinute: 1_000_000, perDay: 10_000_000 }

type Asked = Readonly<{ stream?: boolean }>

/** A gateway in front of the three APIs, with the costs of the page, and a key. */
async function start(t: Test, { gapMs = 20, more = {} } = {}) {
  const upstream = await startUpstream(t, (request, response) => {
    let text = ''
    request.on('data', (piece: Buffer) => (text += String(piece)))
    request.on('end', () => {
      const recipe = { chat, responses, messages }[nameOf(request.url)]
      const { stream = false } = JSON.parse(text) as Asked
      response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
      if (!stream) return response.end(recipe?.whole)
      const events = recipe?.streamed.match(/[^]*?\n\n/g) ?? []
      const write = (): void => {
        const event = events.shift()
        if (event === undefined) return void response.end()
        response.write(event)
        setTimeout(write, gapMs)
      }
      write()
    })
  })
  const route = (path: string, recipe = chat) => ({
    ...{ path, upstream: 'animals', errors: 'on', methods: ['POST'] },
    cost: { estimate: 5, from: recipe?.from, atMost: 1_000 },
  })
  const routes = [
    route('/v1/chat/completions'),
    route('/v1/responses', responses),
    route('/v1/messages', messages),
  ]
  const gateway = await startGateway(t, {
    upstream,
    clock: () => Date.UTC(2026, 10, 20, 12),
    more: stringify({
      plans: { free: plenty },
      keys: { from: ['Authorization', 'X-API-Key'] },
      ...more,
    }),
    routes: `\n${stringify(routes)}`,
  })
  const { token, headers } = await gateway.key()
  const used = async (): Promise<number> => {
    const { minute } = json(await gateway.call('GET', '/v1/quota', undefined, headers))
    const { limit, remaining } = minute as { limit: number; remaining: number }
    return limit - remaining
  }
  const isUsed = (points: number) => until(async () => (await used()) === points)
  const baseURL = `${gateway.url}/v1`
  const sdks = (apiKey = token) => ({
    openai: new OpenAI({ baseURL, apiKey, maxRetries: 0 }),
    anthropic: new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 }),
    vercelOpenai: createOpenAI({ baseURL, apiKey }),
    vercelAnthropic: createAnthropic({ baseURL, apiKey }),
  })
  return { ...gateway, isUsed, used, sdks }
}

function nameOf(url = ''): 'chat' | 'responses' | 'messages' {
  if (url.includes('messages')) return 'messages'
  return url.includes('chat') ? 'chat' : 'responses'
}

const asked = [{ role: 'user' as const, content: 'Hello' }]
const model = 'some-model'
const max_tokens = 100
const [ofChat = 0, ofResponses = 0, ofMessages = 0] = [chat, responses, messages].map(
  (each) => each?.points,
)

t.test('whole answers reach the SDKs, and cost what they say', async (t) => {
  const { sdks, isUsed } = await start(t)
  const { openai, anthropic, vercelOpenai, vercelAnthropic } = sdks()
  let points = 0
  const costs = async (more: number, name: string) => {
    await isUsed((points += more))
    t.pass(`${name}: ${more}`)
  }
  const completion = await openai.chat.completions.create({ model, messages: asked })
  t.equal(completion.choices[0]?.message.content, 'Hi.')
  await costs(ofChat, 'chat completions')
  const response = await openai.responses.create({ model, input: 'Hello' })
  t.equal(response.output_text, 'Hi.')
  await costs(ofResponses, 'responses')
  const message = await anthropic.messages.create({ model, max_tokens, messages: asked })
  t.match(message.content, [{ text: 'Hi.' }])
  await costs(ofMessages, 'messages')
  for (const [name, each, more] of [
    ['chat', vercelOpenai.chat(model), ofChat],
    ['messages', vercelAnthropic(model), ofMessages],
  ] as const) {
    const { text } = await generateText({ model: each, prompt: 'Hello', maxRetries: 0 })
    t.equal(text, 'Hi.')
    await costs(more, `Vercel's ${name}`)
  }
})

t.test('streams reach the SDKs as they come, and cost what they say', async (t) => {
  const { sdks, isUsed } = await start(t)
  const { openai, anthropic, vercelOpenai } = sdks()
  let points = 0
  const costs = async (more: number, name: string) => {
    await isUsed((points += more))
    t.pass(`${name}: ${more}`)
  }
  let text = ''
  const usage = { include_usage: true }
  const chunks = await openai.chat.completions.create({
    model,
    messages: asked,
    stream: true,
    stream_options: usage,
  })
  for await (const { choices } of chunks) text += choices[0]?.delta.content ?? ''
  t.equal(text, 'Hi.')
  await costs(ofChat, 'chat completions')
  text = ''
  const events = await openai.responses.create({ model, input: 'Hello', stream: true })
  for await (const event of events)
    if (event.type === 'response.output_text.delta') text += event.delta
  t.equal(text, 'Hi.')
  await costs(ofResponses, 'responses')
  text = ''
  const parts = await anthropic.messages.create({
    model,
    max_tokens,
    messages: asked,
    stream: true,
  })
  for await (const part of parts) {
    if (part.type === 'content_block_delta' && part.delta.type === 'text_delta')
      text += part.delta.text
  }
  t.equal(text, 'Hi.')
  await costs(ofMessages, 'messages')
  text = ''
  const { textStream } = streamText({
    model: vercelOpenai.chat(model),
    prompt: 'Hello',
    maxRetries: 0,
  })
  for await (const piece of textStream) text += piece
  t.equal(text, 'Hi.')
  await costs(ofChat, "Vercel's chat")
})

t.test('a user who presses Stop pays for what was passed on', async (t) => {
  const { sdks, isUsed } = await start(t, { gapMs: 300 })
  const { openai, anthropic } = sdks()
  const stream = await openai.chat.completions.create({ model, messages: asked, stream: true })
  for await (const { choices } of stream) if (choices[0]?.delta.content) break
  stream.controller.abort()
  await isUsed(5)
  const parts = anthropic.messages.stream({ model, max_tokens, messages: asked })
  await new Promise<void>((resolve) => parts.on('text', () => resolve()))
  parts.abort()
  await parts.done().catch(() => undefined)
  // The input was told, 25 points; four events of 5 are less.
  await isUsed(5 + 25)
})

/** The status and the message of an error that a call throws. */
async function errorOf(call: () => Promise<unknown>) {
  try {
    await call()
  } catch (error) {
    const { status, statusCode, message } = error as {
      status?: number
      statusCode?: number
      message: string
    }
    return { status: status ?? statusCode, message }
  }
  throw new Error('nothing was thrown')
}

t.test('each refusal is shown by the SDKs with its sentence', async (t) => {
  const gateway = await start(t)
  const keys = {
    unknown: 'not-a-key',
    poor: (await gateway.key({ limits: { perMinute: 5 } })).token,
    small: (await gateway.key({ limits: { perMinute: 3 } })).token,
    restricted: (await gateway.key({ methods: ['GET'] })).token,
  }
  const { openai } = gateway.sdks(keys.poor)
  await openai.chat.completions.create({ model, messages: asked })
  for (const [name, status, sentence] of [
    ['unknown', 401, 'The API key is not valid.'],
    ['poor', 429, /This request needs 5 points, and fewer are left of 5 points a minute/],
    ['small', 403, /This request costs 5 points; your limit is 3 a minute/],
    ['restricted', 403, /Your key is not for this operation/],
  ] as const) {
    const { openai, anthropic, vercelOpenai, vercelAnthropic } = gateway.sdks(keys[name])
    const calls = [
      () => openai.chat.completions.create({ model, messages: asked }),
      () => openai.chat.completions.create({ model, messages: asked, stream: true }),
      () => openai.responses.create({ model, input: 'Hello' }),
      () => anthropic.messages.create({ model, max_tokens, messages: asked }),
      () => anthropic.messages.stream({ model, max_tokens, messages: asked }).finalMessage(),
      () => generateText({ model: vercelOpenai.chat(model), prompt: 'Hello', maxRetries: 0 }),
      () => generateText({ model: vercelAnthropic(model), prompt: 'Hello', maxRetries: 0 }),
    ]
    for (const call of calls) {
      const { status: got, message } = await errorOf(call)
      t.equal(got, status, name)
      t.match(message, sentence, name)
    }
  }
})
