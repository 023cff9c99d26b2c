import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startBrowser, type Open } from '../support/browser.ts'
import { startGateway, startUpstream, type GatewayOptions } from '../support/gateway.ts'
import { startMcp } from '../support/mcp-server.ts'
import { root } from '../support/process.ts'
import { startTus } from '../support/tus-server.ts'

const { test } = await startBrowser(t)

const mebibyte = 1024 * 1024

/** A page of another origin, and a gateway whose `cors.origins` has that origin. */
async function startPage(t: Test, open: Open, options: GatewayOptions, cors = '') {
  const { url: origin } = await startUpstream(t, (_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>A page</title>')
  })
  const gateway = await startGateway(t, {
    ...options,
    more: `cors: { origins: [ "${origin}" ] ${cors} }`,
  })
  const asked: string[] = []
  gateway.server.on('request', ({ method, url }) => asked.push(`${method} ${url}`))
  const page = await open(origin, { at: '/', expected: /^another host: |^413 PATCH/ })
  const { token } = await gateway.key()
  /** Runs the body of an async function in the page, with the gateway's address and a key. */
  const run = (body: string) =>
    page.evaluate<unknown>(`(async (url, authorization) => { ${body} })
      ('${gateway.url}', 'Bearer ${token}')`)
  return { page, run, asked, gateway }
}

async function startUploads(t: Test, open: Open, bodyLimit: string) {
  const tus = await startTus(t)
  const routes = `[ { path: /up/*, rewrite: /files/*, upstream: animals, bodyLimit: ${bodyLimit} } ]`
  const started = await startPage(t, open, { upstream: tus, routes })
  await started.page.addScriptTag({
    path: join(root, 'node_modules/tus-js-client/dist/tus.min.js'),
  })
  return { ...started, tus }
}

test('tus-js-client uploads from another origin, and goes on after a break', async (t, open) => {
  const { run, asked, tus } = await startUploads(t, open, '2MiB')
  const told = await run(`
    const bytes = new Uint8Array(${5 * mebibyte}).map((_, i) => i % 251)
    const offsets = []
    await new Promise((onSuccess, onError) => {
      const upload = new tus.Upload(new Blob([bytes]), {
        endpoint: url + '/up/', headers: { authorization }, chunkSize: ${2 * mebibyte},
        metadata: { filename: 'numbers.bin' }, retryDelays: null, onSuccess, onError,
        onChunkComplete: (_size, offset) => {
          offsets.push(offset)
          if (offsets.length === 1) void upload.abort().then(() => upload.start())
        },
      })
      upload.start()
    })
    return offsets`)
  t.strictSame(
    told,
    [2, 4, 5].map((each) => each * mebibyte),
    'the page reads each Upload-Offset',
  )
  const [[path = '', upload] = []] = [...tus.uploads]
  t.equal(upload?.length, 5 * mebibyte)
  t.ok(upload?.bytes.equals(Buffer.from(Array.from({ length: upload.length }, (_, i) => i % 251))))
  const at = path.replace('/files', '/up')
  const ways = ['OPTIONS', 'PATCH', 'HEAD', 'PATCH', 'PATCH'].map((method) => `${method} ${at}`)
  t.strictSame(asked, ['OPTIONS /up/', 'POST /up/', ...ways], 'the browser keeps preflights')
})

test('a page reads that a piece of an upload is over bodyLimit', async (t, open) => {
  const { run, tus } = await startUploads(t, open, '1MiB')
  const status = await run(`return new Promise((told) => new tus.Upload(
    new Blob([new Uint8Array(${2 * mebibyte})]), {
      endpoint: url + '/up/', headers: { authorization }, retryDelays: null,
      onError: (error) => told(error.originalResponse?.getStatus()),
    }).start())`)
  t.equal(status, 413)
  t.strictSame(
    [...tus.uploads.values()].map(({ bytes }) => bytes.length),
    [0],
  )
})

test('an MCP client of another origin has its session', async (t, open) => {
  const upstream = await startMcp(t, 'session-of-a-page')
  const routes = '[ { path: /mcp, upstream: animals } ]'
  const cors = ', expose: [ Mcp-Session-Id ]'
  const { run, asked } = await startPage(t, open, { upstream, routes }, cors)
  // As the SDK's StreamableHTTPClientTransport asks.
  const told = await run(`
    const answers = []
    const headers = { authorization }
    const ask = async (method, message, more) => {
      const accept = message ? 'application/json, text/event-stream' : 'text/event-stream'
      const type = message && { 'content-type': 'application/json' }
      const body = message && JSON.stringify({ jsonrpc: '2.0', ...message })
      const sent = { ...headers, ...type, ...more, accept }
      const answer = await fetch(url + '/mcp', { method, body, headers: sent })
      answers.push(answer.status)
      return answer
    }
    const dataOf = async (answer) => {
      const { value } = await answer.body.pipeThrough(new TextDecoderStream()).getReader().read()
      return JSON.parse(/^data: (.*)$/m.exec(value)[1])
    }
    const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: {} }
    const first = await ask('POST', { id: 1, method: 'initialize', params: client })
    headers['mcp-session-id'] = first.headers.get('mcp-session-id')
    headers['mcp-protocol-version'] = (await first.json()).result.protocolVersion
    await ask('POST', { method: 'notifications/initialized' })
    const tools = await dataOf(await ask('POST', { id: 2, method: 'tools/list' }))
    const stream = await ask('GET', undefined, { 'last-event-id': '7' })
    const { method } = await dataOf(stream)
    await ask('DELETE')
    return [headers['mcp-session-id'], ...answers, tools.result.content[0].text, method]`)
  t.strictSame(told, [
    ...['session-of-a-page', 200, 202, 200, 200, 204],
    ...['tools/list', 'notifications/after/7'],
  ])
  t.equal(asked.filter((each) => each === 'OPTIONS /mcp').length, 3, asked.join(', '))
})
