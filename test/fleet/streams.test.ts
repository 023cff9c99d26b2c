import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import t from 'tap'
import { request } from 'undici'
import { peakMemory, startFleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'

const size = 200 * 2 ** 20
const block = Buffer.alloc(2 ** 18, 'x')

t.test('200 MB up and 200 MB down leave a gateway as small as it was', async (t) => {
  let received = 0
  const { url: upstream } = await startUpstream(t, (asked, response) => {
    if (asked.method === 'POST') {
      asked.on('data', (chunk: Buffer) => (received += chunk.length))
      asked.on('end', () => response.end('{}'))
      return
    }
    let left = size
    const write = (): void => {
      while (left > 0) {
        left -= block.length
        if (!response.write(block)) return void response.once('drain', write)
      }
      response.end()
    }
    write()
  })
  const { urls, processes, key } = await startFleet(t, {
    upstream,
    routes: '[ { path: /v1/*, upstream: animals, bodyLimit: 1GiB } ]',
  })
  const [url = ''] = urls
  const [gateway] = processes
  if (!gateway) return
  const headers = await key()
  // A first load makes the engine's heap grow once, which isn't the stream's cost.
  const upload = async (bytes: number): Promise<number> => {
    const asked = httpRequest(`${url}/v1/up`, { method: 'POST', headers })
    for (let sent = 0; sent < bytes; sent += block.length) {
      if (!asked.write(block)) await once(asked, 'drain')
    }
    asked.end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()
    return answer.statusCode ?? 0
  }
  await upload(size / 4)
  const warm = await request(`${url}/v1/down`, { headers })
  await warm.body.dump({ limit: size / 4 })
  received = 0
  const before = peakMemory(gateway)

  t.equal(await upload(size), 200)
  t.equal(received, size)
  const afterUp = peakMemory(gateway)

  const down = await request(`${url}/v1/down`, { headers })
  let got = 0
  let isFirst = true
  for await (const chunk of down.body) {
    got += (chunk as Buffer).length
    // A reader that is slow at first: what it doesn't take must not pile up in between.
    if (isFirst) await new Promise((go) => setTimeout(go, 500))
    isFirst = false
  }
  t.equal(got, size)
  const grown = peakMemory(gateway) - before
  t.ok(
    grown < 60,
    `${Math.round(afterUp - before)} MB by the upload, ${Math.round(grown)} MB in all`,
  )
})
