import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import type { Config } from '../../../gateway/front/config/config.ts'
import { callersDocument } from '../../../gateway/front/portal/document.ts'
import { section, type Section } from '../../../gateway/front/http/page/sections.ts'
import { parseConfig } from '../../../gateway/office/config/load.ts'
import { configFor, startGateway, type GatewayOptions } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { clientOf } from '../../support/openapi-client.ts'
import { lintFaults } from '../../support/openapi-lint.ts'
import { contractOf } from '../../support/openapi.ts'
import { root } from '../../support/process.ts'
import { folderOf } from '../../support/folder.ts'

/** An API of somebody else, in an inner network and without any security. */
const zoo = `
openapi: 3.0.3
info: { title: Zoo, version: '1', license: { name: MIT, url: https://zoo.example/license } }
servers: [ { url: 'http://10.0.0.5:3000/api', description: inner } ]
tags: [ { name: pets, description: Animals. } ]
paths:
  /pets:
    get:
      operationId: listPets
      summary: List
      tags: [pets]
      parameters: [ { name: limit, in: query, description: How many., schema: { type: integer } } ]
      responses: { '200': { description: All. }, '400': { description: No. } }
  /pets/{petId}:
    parameters: [ { name: petId, in: path, required: true, description: Its id., schema: { type: string } } ]
    put:
      operationId: putPet
      summary: Put
      tags: [pets]
      responses: { '200': { $ref: '#/components/responses/GatewayForbidden' }, '400': { $ref: '#/paths/~1pets/get/responses/400' }, '429': { description: Of its own. } }
components:
  responses: { GatewayForbidden: { description: A name that the gateway uses too. } }
`

/** Another one, with a scheme that the backend checks, and paths that lead to no route as they stand. */
const shop = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1', license: { name: 'MIT', identifier: 'MIT' } },
  servers: [
    {
      url: 'https://{host}.inner/{version}/',
      variables: { host: { default: 'shop' }, version: { default: 'v2' } },
    },
  ],
  security: [{ inner: [] }],
  tags: [{ name: 'all', description: 'All.' }],
  paths: {
    '/orders': {
      post: {
        operationId: 'order',
        summary: 'Order',
        tags: ['all'],
        requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
        responses: { 201: { description: 'Ordered.' } },
      },
    },
    '/news': { $ref: '#/components/pathItems/News' },
  },
  components: {
    securitySchemes: { inner: { type: 'apiKey', in: 'header', name: 'X-Inner' } },
    pathItems: {
      News: {
        get: {
          operationId: 'news',
          summary: 'News',
          tags: ['all'],
          security: [],
          servers: [{ url: 'http://news.inner:9000/press' }],
          responses: { 200: { description: 'All.' } },
        },
      },
    },
  },
})

/** For documents: a gateway's own folder is empty at its start. */
const folder = folderOf(t)

/** A gateway with pages of a document, which is served and lints. */
async function serve(t: Test, text: string, { more = '', ...options }: GatewayOptions = {}) {
  const source = join(folder, 'document')
  writeFileSync(source, text)
  const portal = `portal: { openapi: ${source} }`
  const gateway = await startGateway(t, { ...options, more: `${portal}\n${more}` })
  const { text: served } = await gateway.call('GET', '/docs/openapi.json')
  const file = join(folder, 'served.json')
  writeFileSync(file, served)
  t.strictSame(await lintFaults(file), [])
  return {
    gateway,
    file,
    served,
    document: json(served),
    address: `${gateway.url}/docs/openapi.json`,
  }
}

const statusesOf = (operation: unknown): string[] =>
  Object.keys(section(section(operation)['responses']))

t.test('a client made of somebody else’s document works with a key: OpenAPI 3.0', async (t) => {
  const { gateway, served, document, address } = await serve(t, zoo, {
    routes: '[ { path: /api/*, upstream: animals } ]',
    more: 'quota: { path: /api/quota }\ntickets: on\ndeprecations: [ { operation: "PUT /api/pets/{id}", since: 2026-01-01 } ]',
  })
  t.notMatch(served, /10\.0\.0\.5|inner/)
  const paths = section(document['paths'])
  t.strictSame(Object.keys(paths), [
    ...['/api/pets', '/api/pets/{petId}', '/api/quota', '/v1/usage', '/v1/ticket'],
  ])
  const { get } = section(paths['/api/pets'])
  const { put } = section(paths['/api/pets/{petId}'])
  t.strictSame(statusesOf(get), ['200', '400', '401', '403', '429'])
  t.match(put, {
    deprecated: true,
    responses: {
      400: { $ref: '#/paths/~1api~1pets/get/responses/400' },
      429: { description: 'Of its own.' },
    },
  })
  t.notOk(section(get)['deprecated'])
  const { key, token } = await gateway.key({ limits: { perMinute: 2 } })
  const ask = clientOf(document, address, { Gateway2Key: token })
  t.equal((await ask('listPets', { query: { limit: '7' } })).status, 200)
  t.equal((await ask('putPet', { path: { petId: '7' } })).status, 200)
  t.strictSame(
    gateway.upstream.seen.map(({ method, url }) => `${method} ${url}`),
    ['GET /api/pets?limit=7', 'PUT /api/pets/7'],
  )
  const refused = await ask('listPets')
  t.equal(refused.status, 429)
  const { 429: tooMany } = section(section(get)['responses'])
  const { $ref } = section(tooMany)
  const [, , , name = ''] = String($ref).split('/')
  const { headers } = section(section(section(document['components'])['responses'])[name])
  for (const header of Object.keys(section(headers))) t.ok(refused.headers.has(header), header)
  t.match(await (await ask('getGateway2Quota')).json(), {
    plan: key.plan,
    minute: { remaining: 0 },
  })
  t.match(await (await ask('getGateway2Usage')).json(), { key: key.id })
  t.match(await (await ask('takeGateway2Ticket')).json(), { ticket: /./ })
})

t.test('… and OpenAPI 3.1, with a scheme of the backend’s and a rewritten path', async (t) => {
  const { gateway, served, document, address } = await serve(t, shop, {
    routes: '[ { path: /shop/*, upstream: animals, rewrite: /v2/* } ]',
    more: 'keys: { from: [ x-zoo-key, authorization ] }',
  })
  t.notMatch(served, /\.inner/)
  t.match(document, { servers: [{ url: '/' }], security: [{ inner: [], GatewayKey: [] }] })
  const { token } = await gateway.key()
  const ask = clientOf(document, address, { GatewayKey: token, inner: 'secret' })
  t.equal((await ask('order', { body: {} })).status, 200)
  t.equal((await ask('getGatewayQuota')).status, 200)
  const onlyKey = clientOf(document, address, { GatewayKey: token })
  t.equal((await onlyKey('getGatewayUsage')).status, 200)
  t.equal(gateway.upstream.seen[0]?.headers['x-inner'], 'secret')
  const { News } = section(section(document['components'])['pathItems'])
  const { get } = section(News)
  t.match(get, { security: [{ GatewayKey: [] }] })
  t.strictSame(statusesOf(get), ['200', '401', '403', '429'])
  t.strictSame(
    gateway.upstream.seen.map(({ url }) => url),
    ['/v2/orders'],
  )
})

for (const version of ['3.0.3', '3.1.0', '3.2.0']) {
  t.test(`the gateway’s own operations answer as they are described: ${version}`, async (t) => {
    const { gateway, file, document } = await serve(t, zoo.replace('3.0.3', version), {
      more: `
tickets: on
plans: { free: { perSecond: 50, perMinute: 60, perHour: 100, perDay: 1000, perMonth: 20000, operations: { reads: { methods: [GET], perHour: 90 } } } }
deprecations: [ { operation: "GET /v1/old", since: 2026-01-01, sunset: 2099-01-01 } ]
`,
    })
    const isOld = version === '3.0.3'
    const { Gateway2Window: window } = section(section(document['components'])['schemas'])
    t.match(window, isOld ? { type: 'object', nullable: true } : { type: ['object', 'null'] })
    // The tests' own reader of schemas knows no `nullable`.
    const call = isOld ? gateway.call : contractOf(file).held(t, gateway.call)
    const { headers } = await gateway.key({ account: 'acme', cap: { perDay: 500 } })
    await gateway.call('GET', '/v1/old', undefined, headers)
    await gateway.app.front.flushCounts()
    const asked = [
      ['GET', '/v1/quota', 200],
      ['GET', '/v1/usage?days=3', 200],
      ['GET', '/v1/usage', 429],
      ['GET', '/v1/usage?days=0', 400],
      ['POST', '/v1/ticket', 201],
    ] as const
    for (const [method, path, status] of asked) {
      t.equal((await call(method, path, undefined, headers)).status, status, `${method} ${path}`)
    }
    t.equal((await call('GET', '/v1/quota')).status, 401)
  })
}

/** The document of the callers, for one of an operator. */
function documentFor(document: object, more = '', routes?: string, prefix = ''): Section {
  const written = routes === undefined ? { more } : { more, routes }
  const text = configFor('http://127.0.0.1:1', 'file: ":memory:"', written)
  const config: Config = parseConfig(text, {}, 'test.yaml')
  const portal = { path: '/docs', document: JSON.stringify(document) }
  return json(callersDocument(config, portal, prefix))
}

t.test('what a document has itself stays: the animal store’s gets a server, and no more', (t) => {
  const document = parse(
    readFileSync(join(root, 'config/openapi/animal-store.yaml'), 'utf8'),
  ) as object
  t.strictSame(documentFor(document), { ...document, servers: [{ url: '/' }] })
  t.end()
})

t.test('paths are those at the gateway, whatever servers and routes say', (t) => {
  const routes = `[
    { path: /api/*, upstream: animals }, { path: /plain, upstream: animals },
    { path: /shop/*, upstream: animals, rewrite: / }, { path: /v1/pets/*, upstream: animals, rewrite: /inner/pets/* } ]`
  const cases = [
    [undefined, '/plain', '/plain'],
    ['https://zoo.example/api/', '/x', '/api/x'],
    ['https://zoo.example/api', '/plain', '/api/plain'],
    ['https://zoo.example/v9', '/plain', '/plain'],
    ['https://zoo.example/api', '/api', '/api/api'],
    ['//zoo.example//evil.example', '/x', '/shop/evil.example/x'],
    ['https://zoo.example', '//evil.example/x', '/shop/evil.example/x'],
    ['foo:/\\evil.example', '/x', '/shop/evil.example/x'],
    ['{{{', '/x', '/shop/%7B%7B%7B/x'],
    ['http://zoo/inner', '/pets/{id}', '/v1/pets/{id}'],
    ['http://zoo/inner', '/pet', '/shop/inner/pet'],
    [`/${'x'.repeat(256)}`, '/x', '/shop/x'],
    ['unix:run.sock', '/{any}', '/shop/{any}'],
    [5, '/x', '/shop/x'],
  ] as const
  for (const [url, path, expected] of cases) {
    const servers = url === undefined ? undefined : [{ url }]
    for (const prefix of ['', '/app']) {
      const document = { openapi: '3.1.0', servers, paths: { [path]: { get: {} } } }
      const made = documentFor(document, 'quota: off\nusage: off', routes, prefix)
      t.strictSame(Object.keys(section(made['paths'])), [expected], String(url))
      t.strictSame(made['servers'], [{ url: prefix || '/' }])
    }
  }
  const servers = [{ url: 'https://zoo.example/app/api' }]
  const document = { openapi: '3.1.0', servers, paths: { '/x': {}, '/y': { servers: [] } } }
  const made = documentFor(document, 'quota: off\nusage: off', routes, '/app')
  t.match(made, { servers: [{ url: '/app' }], paths: { '/api/x': {}, '/shop/y': {} } })
  t.end()
})

t.test('schemes that carry a key are as the gateway takes it; others stand beside it', (t) => {
  const bearer = { type: 'http', scheme: 'Bearer', bearerFormat: 'JWT', description: 'Mine.' }
  const oauth = { type: 'oauth2', flows: {} }
  const basic = { type: 'http', scheme: 'basic' }
  const named = (name: string) => ({ type: 'apiKey', in: 'header', name })
  const own = { type: 'http', scheme: 'bearer' }
  const cases = [
    ['authorization', bearer, bearer],
    ['authorization', oauth, oauth],
    ['authorization', basic, own],
    ['authorization', named('Authorization'), own],
    ['x-key', bearer, { ...named('X-Key'), description: 'Mine.' }],
    ['x-key', named('x-KEY'), named('X-Key')],
    ['authorization', named('X-Key'), undefined],
    ['authorization', { ...named('authorization'), in: 'query' }, undefined],
    ['authorization', { type: 'mutualTLS' }, undefined],
    ['x-key', oauth, undefined],
    ['x-key', basic, undefined],
    ['x-key', named('X-Inner'), undefined],
  ] as const
  for (const [from, scheme, expected] of cases) {
    const made = documentFor(
      {
        openapi: '3.1.0',
        security: [{}, { mine: ['read'] }],
        paths: {},
        components: { securitySchemes: { mine: scheme } },
      },
      `keys: { from: [ ${from} ] }`,
    )
    const { mine, GatewayKey } = section(section(made['components'])['securitySchemes'])
    const message = `${from}: ${JSON.stringify(scheme)}`
    t.strictSame(mine, expected ?? scheme, message)
    const withKey = [{ GatewayKey: [] }, { mine: ['read'], GatewayKey: [] }]
    t.strictSame(made['security'], expected ? [{ mine: ['read'] }] : withKey, message)
    t.equal(GatewayKey === undefined, expected !== undefined, message)
  }
  t.end()
})

t.test('the admin API’s document can be shown, too, and needs a key everywhere', async (t) => {
  const admin = readFileSync(join(root, 'config/openapi/admin.yaml'), 'utf8')
  const { document } = await serve(t, admin)
  t.match(document, { security: [{ adminToken: [] }], servers: [{ url: '/' }] })
  const { get } = section(section(section(document['paths']))['/healthz'])
  t.match(get, { security: [{ adminToken: [] }] })
})
