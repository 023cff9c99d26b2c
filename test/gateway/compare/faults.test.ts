import { createServer } from 'node:http'
import t from 'tap'
import { parseConfig } from '../../../gateway/office/config/load.ts'
import { Mirror } from '../../../gateway/office/compare/mirror.ts'
import { configFor, startUpstream } from '../../support/gateway.ts'
import { until } from '../../support/until.ts'

t.test(
  'a fault in a comparison ends no process: the request counts as not comparable',
  async (t) => {
    const { url } = await startUpstream(t)
    const { upstreams, routes } = parseConfig(configFor(url, 'file: x.db'), {}, 'test.yaml')
    const [upstream, route] = [upstreams.get('animals'), routes[0]]
    if (!upstream || !route) throw new Error('both are configured')
    const mirror = new Mirror({ url, upstream, share: 1, room: 1, failed: () => undefined })
    t.teardown(() => mirror.end())
    let isFailing = true
    const server = createServer((_request, response) => {
      mirror.follow({
        ...{ method: 'GET', target: '/v1/x', requestId: 'r', callerId: 'c', route, status: 200 },
        ...{ headers: {}, body: undefined, response, ms: 1, host: undefined, hasCookies: false },
        headersFor: () => {
          if (isFailing) throw new Error('a fault')
          return []
        },
      })
      response.end('{}')
    })
    const asked = await new Promise<string>((resolve) => {
      server.listen(0, '127.0.0.1', () =>
        resolve(`http://127.0.0.1:${Reflect.get(server.address() ?? {}, 'port')}`),
      )
    })
    t.teardown(() => server.close())
    await fetch(asked)
    await until(() => mirror.counts.unfit === 1)
    t.strictSame(mirror.counts.routes, [])
    isFailing = false
    await fetch(asked)
    await until(() => mirror.counts.routes.length === 1)
    t.equal(mirror.counts.unfit, 1, 'the next one has room, and is compared')
  },
)
