import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import type { Gateway } from '../../../gateway/gateway.ts'
import { plenty, startForCaller } from '../../support/first-caller.ts'
import { startRawUpstream, startUpstream } from '../../support/gateway.ts'
import { json, type Answer } from '../../support/http.ts'
import { pause } from '../../support/traffic.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

t.test('routes', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    response.setHeader('location', request.headers['x-location'] ?? '/elsewhere')
    response.end(`${request.method} ${request.url}`)
  })
  const gateway = await startForCaller(t, {
    upstream,
    routes: `
  - { path: /v1/*, upstream: animals }
  - { path: '/v1/pets/{petId}', upstream: animals, methods: [ GET, DELETE ] }
  - { path: /exact, upstream: animals }
  - { path: /old/*, upstream: animals, rewrite: /api/* }
  - { path: /bare/*, upstream: animals, rewrite: /* }
`,
  })
  const { call, headers, get } = gateway
  t.equal((await get('/v1/a/b?q=%41')).text, 'GET /v1/a/b?q=%41')
  t.equal((await get('/exact')).text, 'GET /exact')
  t.equal((await get('/old/a%20b/c?x=/old/')).text, 'GET /api/a%20b/c?x=/old/')
  t.equal((await get('/bare/a?x')).text, 'GET /a?x')
  t.equal((await get('/v1/')).text, 'GET /v1/')
  for (const path of ['/', '/v1', '/exact/', '/exact/more', '/old', '/V1/a', '/nowhere']) {
    t.equal((await get(path)).status, 404, path)
  }
  const refused = await call('PATCH', '/v1/pets/7', {}, headers)
  t.match(refused, { status: 405, headers: { allow: 'GET, DELETE, HEAD' } })
  t.equal((await call('DELETE', '/v1/pets/7', undefined, headers)).text, 'DELETE /v1/pets/7')
  t.equal((await call('HEAD', '/v1/pets/7', undefined, headers)).status, 200)
  for (const [path, sent, told] of [
    ['/v1/a', '/v1/pets/1', '/v1/pets/1'],
    ['/v1/a', `${upstream.url}/v1/pets/1`, '/v1/pets/1'],
    ['/v1/a', 'https://elsewhere.example/x', 'https://elsewhere.example/x'],
    ['/v1/a', `${upstream.url}//evil.example/`, `${upstream.url}//evil.example/`],
    ['/v1/a', upstream.url, '/'],
    ['/v1/a', `${upstream.url}1/private`, `${upstream.url}1/private`],
    ['/v1/a', `${upstream.url}.evil.example/`, `${upstream.url}.evil.example/`],
    ['/old/a', '/api/pets/1', '/old/pets/1'],
    ['/old/a', `${upstream.url}/api/pets/1?x=1`, '/old/pets/1?x=1'],
    ['/old/a', '/elsewhere', '/elsewhere'],
    ['/bare/a', '/pets/1', '/bare/pets/1'],
  ] as const) {
    const answer = await call('GET', path, undefined, { ...headers, 'x-location': sent })
    t.equal(answer.headers['location'], told, `${path}: ${sent}`)
  }
})

t.test('a path may have several entries, each for methods of its own', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    response.end(`${request.method} ${request.url}`)
  })
  const { call, headers } = await startForCaller(t, {
    upstream,
    routes: `
  - { path: '/v1/{a}', upstream: animals, methods: [ GET ] }
  - { path: '/v1/{b}', upstream: animals, methods: [ POST, PURGE ], cost: 5, bodyLimit: 8B }
  - { path: /all/*, upstream: animals, methods: [ POST ], rewrite: /api/*, cost: 7 }
  - { path: /all/*, upstream: animals, cost: 2 }
`,
  })
  const left = (answer: Answer) => Number(answer.headers['x-ratelimit-remaining'])
  const first = await call('GET', '/v1/x', undefined, headers)
  t.match(first, { status: 200, text: 'GET /v1/x' })
  const costOf = async (method: string, path: string, body?: object) => {
    const before = left(await call('GET', '/v1/quota', undefined, headers))
    const answer = await call(method, path, body, headers)
    return [answer.status, answer.text, before - left(answer)]
  }
  t.strictSame(await costOf('POST', '/v1/x', [1]), [200, 'POST /v1/x', 5])
  t.strictSame(await costOf('PURGE', '/v1/x'), [200, 'PURGE /v1/x', 5])
  t.strictSame(await costOf('HEAD', '/v1/x'), [200, '', 1])
  t.equal((await call('POST', '/v1/x', [1, 2, 3, 4, 5], headers)).status, 413)
  t.equal((await call('POST', '/all/x', [1, 2, 3, 4, 5], headers)).text, 'POST /api/x')
  t.strictSame(await costOf('PUT', '/all/x', {}), [200, 'PUT /all/x', 2])
  t.strictSame(await costOf('GET', '/all/x'), [200, 'GET /all/x', 2])
  const refused = await call('DELETE', '/v1/x', undefined, headers)
  t.match(refused, { status: 405, headers: { allow: 'GET, HEAD, POST, PURGE' } })
  const rest = await call('PURGE', '/all/x', undefined, headers)
  const allow = 'POST, GET, HEAD, QUERY, PUT, PATCH, DELETE, OPTIONS'
  t.match(
    rest,
    { status: 405, headers: { allow } },
    'the other entry has the rest of what is usual',
  )
})

t.test('a route may be for all that there is', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    response.end(`${request.method} ${request.url}`)
  })
  const { call, headers, get, ask } = await startForCaller(t, {
    upstream,
    routes:
      '[ { path: /*, upstream: animals }, { path: /v1/x, upstream: animals, methods: [GET] }, { path: /café, upstream: animals, methods: [GET] } ]',
  })
  for (const path of ['/', '/x', '/x/y?z=%41', '/v1/', '/v1/x', '/v1/quota/x']) {
    t.equal((await get(path)).text, `GET ${path}`)
  }
  t.match(json(await get('/v1/quota')), { plan: 'free' }, 'but what the gateway itself answers')
  t.equal((await call('PUT', '/x', {}, headers)).text, 'PUT /x')
  t.equal((await call('PUT', '/v1/x', {}, headers)).status, 405)
  t.equal((await call('PUT', '/caf%C3%A9', {}, headers)).status, 405, 'written without escapes')
  t.equal((await get('/caf%C3%A9')).text, 'GET /caf%C3%A9')
  t.match(await call('PURGE', '/x', undefined, headers), { status: 405 })
  t.equal((await call('GET', '/x')).status, 401)
  t.match(await ask('OPTIONS *'), /^HTTP\/1\.1 400 /)
  t.match(await ask('GET http://x.example/x'), /^HTTP\/1\.1 400 /)
  const rewritten = await startForCaller(t, {
    ...{ upstream, routes: '[ { path: /*, upstream: animals, rewrite: /api/* } ]' },
    store: `file: "${join(folderOf(t), 'other.db')}"`,
  })
  t.equal((await rewritten.get('/x/y?z')).text, 'GET /api/x/y?z')
})

/** Whether no target of a gateway is taken out. */
function areHealthy({ front }: Gateway): boolean {
  return front.upstreams.all.every(({ targets }) => targets.every(({ isHealthy }) => isHealthy))
}

t.test('targets', async (t) => {
  const named = (name: string) => (_request: IncomingMessage, response: ServerResponse) => {
    response.end(name)
  }

  t.test('share requests by their weights', async (t) => {
    const [a, b] = [await startUpstream(t, named('a')), await startUpstream(t, named('b'))]
    const targets = `[ { url: "${a.url}", weight: 3 }, "${b.url}" ]`
    const { get } = await startForCaller(t, { targets })
    const answers = []
    for (let i = 0; i < 12; i++) answers.push((await get('/v1/x')).text)
    t.equal(answers.join(''), 'aabaaabaaaba')
  })

  t.test('that cannot be reached are passed over, where that does no harm', async (t) => {
    const [a, b] = [await startUpstream(t, named('a')), 'http://127.0.0.1:1']
    const gateway = await startForCaller(t, {
      targets: `[ "${b}", "${a.url}" ]`,
      upstreamMore: 'health: { unhealthyAfter: 1000 }',
    })
    const { call, headers } = gateway
    for (let i = 0; i < 4; i++) t.equal((await gateway.get('/v1/x')).text, 'a')
    const statuses = []
    for (let i = 0; i < 4; i++) {
      statuses.push((await call('POST', '/v1/x', { a: 1 }, headers)).status)
    }
    t.strictSame(statuses.sort(), [200, 200, 502, 502], 'a POST is not sent anywhere else')
    t.equal((await call('DELETE', '/v1/x', undefined, headers)).status, 200)
  })

  t.test(
    'that fail again and again are taken out, and let back in by a passing check',
    async (t) => {
      let isIll = true
      const ill = await startUpstream(t, (request, response) => {
        if (isIll) request.socket.destroy()
        else response.end('ill')
      })
      const well = await startUpstream(t, named('well'))
      const log: string[] = []
      const { get } = await startForCaller(t, {
        targets: `[ "${ill.url}", "${well.url}" ]`,
        upstreamMore: 'health: { path: /healthz, every: 1h, unhealthyAfter: 3 }',
        log: { level: 'info', target: { write: (line: string) => void log.push(line) } },
      })
      const statuses = []
      for (let i = 0; i < 40; i++) statuses.push((await get('/v1/x')).status)
      const failed = statuses.filter((status) => status === 502).length
      t.ok(failed >= 3 && failed <= 6, `three in a row, and a check that fails: ${failed}`)
      t.equal(log.filter((line) => line.includes('a target is marked unhealthy')).length, 1)
      isIll = false
      await until(() => log.some((line) => line.includes('a target is healthy again')))
      const texts = new Set<string>()
      for (let i = 0; i < 4; i++) texts.add((await get('/v1/x')).text)
      t.strictSame([...texts].sort(), ['ill', 'well'])
    },
  )

  t.test('are looked at without being asked by anybody', async (t) => {
    let status = 500
    const sick = await startUpstream(t, (request, response) => {
      response.writeHead(request.url === '/healthz' ? status : 200).end('{}')
    })
    const { get } = await startForCaller(t, {
      upstream: sick,
      upstreamMore: 'health: { path: /healthz, every: 20ms, unhealthyAfter: 3 }',
    })
    let answer: Answer | undefined
    await until(async () => (answer = await get('/v1/x')).status === 503)
    t.match(answer, { text: /"code":"service_unavailable"/, headers: { 'retry-after': '1' } })
    status = 204
    await until(async () => (await get('/v1/x')).status === 200, 2_000)
  })

  t.test('must end their answers to checks', async (t) => {
    const endless = await startUpstream(t, (request, response) => {
      if (request.url === '/healthz') response.write('well')
      else response.end('{}')
    })
    const { get, app } = await startForCaller(t, {
      upstream: endless,
      upstreamMore: 'health: { path: /healthz, every: 20ms, unhealthyAfter: 1 }',
    })
    t.equal((await get('/v1/x')).status, 200)
    await until(() => !areHealthy(app))
    t.equal((await get('/v1/x')).status, 503)
  })

  t.test('without a path to ask for are back when they can be connected to', async (t) => {
    const closing = await startRawUpstream(t, (socket) => socket.destroy())
    const well = await startUpstream(t, named('well'))
    const gateway = await startForCaller(t, { targets: `[ "${closing.url}", "${well.url}" ]` })
    const others = await Promise.all([1, 2, 3].map(() => gateway.key(plenty)))
    const ask = async (): Promise<number[]> => {
      const statuses = []
      for (let i = 0; i < 12; i++) {
        const { headers } = others[i % 3] ?? gateway
        statuses.push((await gateway.call('GET', '/v1/x', undefined, headers)).status)
      }
      return statuses.filter((status) => status === 502)
    }
    const failed = (await ask()).length
    t.ok(failed >= 3 && failed <= 4, `three callers in a row: ${failed}`)
    await until(() => areHealthy(gateway.app), 3_000)
    t.ok((await ask()).length > 0)
  })

  t.test('are not taken out by what one caller asks for', async (t) => {
    const upstream = await startUpstream(t, (request, response) => {
      if (request.url === '/v1/reset') request.socket.destroy()
      else if (request.url !== '/v1/late') response.end('ok')
    })
    const attacked = async (path: string): Promise<void> => {
      const gateway = await startForCaller(t, {
        upstream,
        upstreamMore: `timeout: { response: 1s }, health: { ${path}, unhealthyAfter: 3 }`,
        store: 'file: ":memory:"',
        log: { level: 'silent', target: { write: () => undefined } },
      })
      const { headers } = await gateway.key(plenty)
      for (const poison of ['/v1/reset', '/v1/late']) {
        let isOver = false
        let rows = 0
        // In one turn, so that no honest answer in between ends the row.
        const attack = async (): Promise<void> => {
          while (!isOver) {
            await Promise.all([1, 2, 3, 4, 5, 6].map(() => gateway.get(poison)))
            rows++
            await pause(25)
          }
        }
        const attacking = attack()
        const refused: number[] = []
        for (let i = 0; i < 40 || rows < 2; i++) {
          const { status } = await gateway.call('GET', '/v1/x', undefined, headers)
          if (status !== 200) refused.push(status)
          await pause(25)
        }
        isOver = true
        await attacking
        t.same(refused, [], `${poison}, ${path}: nobody else is refused`)
      }
    }
    await Promise.all(['path: /healthz, every: 2s', 'every: 2s'].map(attacked))
  })

  t.test('that are the last to be had stay, unless checks fail again and again', async (t) => {
    let isIll = false
    let checks = 0
    const upstream = await startUpstream(t, (request, response) => {
      if (request.url === '/healthz') checks++
      if (isIll) request.socket.destroy()
      else response.end('ok')
    })
    const { get, app } = await startForCaller(t, {
      upstream,
      upstreamMore: 'health: { path: /healthz, every: 1h, unhealthyAfter: 3 }',
    })
    isIll = true
    for (let i = 0; i < 3; i++) t.equal((await get('/v1/x')).status, 502)
    await until(() => checks === 1)
    t.equal((await get('/v1/x')).status, 502, 'one failed check is not enough')
    await until(() => !areHealthy(app), 3_000)
    t.equal((await get('/v1/x')).status, 503)
    t.equal(checks, 3)
    isIll = false
    await until(() => areHealthy(app), 3_000)
    t.equal((await get('/v1/x')).status, 200)
  })
})
