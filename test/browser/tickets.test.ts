import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startBrowser } from '../support/browser.ts'
import t from 'tap'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { json } from '../support/http.ts'
import { blocks, textOf } from '../support/readme.ts'

const { test } = await startBrowser(t)

test('a page hears a stream by tickets, as its guide says, and begins again with new ones', async (t, open) => {
  let said = 0
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${++said}\n\n`)
  })
  const [sample = ''] = blocks(textOf('config/guides/browsers.md'), 'js')
  const own = createServer(({ url }, response) => {
    if (url === '/ticket') {
      void ask().then((ticket) => response.end(ticket))
    } else if (url === '/listen.mjs') {
      response.setHeader('content-type', 'text/javascript').end(sample)
    } else response.setHeader('content-type', 'text/html').end('<!doctype html><title>Own</title>')
  })
  await new Promise<void>((listening) => own.listen(0, '127.0.0.1', listening))
  t.teardown(() => own.close())
  const origin = `http://127.0.0.1:${(own.address() as AddressInfo).port}`
  const { url, call, key } = await startGateway(t, {
    upstream,
    more: `tickets: on\ncors: { origins: [ "${origin}" ] }`,
  })
  const { headers } = await key({ origins: [origin] })
  const ask = async () =>
    String(json(await call('POST', '/v1/ticket', undefined, headers))['ticket'])
  const page = await open(origin, { at: '/', expected: /^another host: .*\/v1\/events\?ticket=/ })
  const heard = await page.evaluate(
    `import('/listen.mjs').then(({ listen }) => new Promise((go) => {
      const heard = []
      const ticket = async () => (await fetch('/ticket')).text()
      const end = listen('${url}/v1/events', ticket, ({ data }) => {
        if (heard.push(data) === 3) go((end(), heard))
      })
    }))`,
  )
  t.strictSame(heard, ['1', '2', '3'])
  t.strictSame(
    upstream.seen.map(({ url }) => url),
    ['/v1/events', '/v1/events', '/v1/events'],
  )
})
