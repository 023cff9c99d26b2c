import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { commandLine } from '../../support/command-line.ts'
import { runCommand } from '../../support/command.ts'
import { configFor, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { bound } from '../../support/promises.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

t.test('a would-be backend is held against the present one', async (t) => {
  const answering = (pets: unknown, more: Record<string, unknown> = {}) =>
    startUpstream(t, ({ url = '' }, response) => {
      const body = url.startsWith('/api/pets') ? pets : more[url]
      response.setHeader('content-type', 'application/json')
      response.statusCode = url === '/healthz' || body !== undefined ? 200 : 404
      response.end(JSON.stringify(body ?? {}))
    })
  const pet = { id: 1, name: 'Rex', tags: ['a'] }
  const present = await answering([pet])
  const folder = folderOf(t)
  const file = join(folder, 'gateway.yaml')
  const yaml = configFor(present.url, 'file: x', {
    routes: '[ { path: /v1/*, upstream: animals, rewrite: /api/* } ]',
    upstreamMore:
      'health: { path: /healthz }, probes: [ { request: GET /v1/pets?limit=1 }, { request: GET /v1/no, status: 404 } ]',
  })
  writeFileSync(file, yaml)
  const check = (url: string, env: Record<string, string> = {}, ...more: string[]) =>
    runCommand(['upstream', 'check', url, '--config', file, ...more], env)
  t.match(await check(present.url), { code: 0, out: /3 probes, nothing breaks\.\n$/ })
  t.equal(present.seen.find(({ url }) => url?.startsWith('/api/pets'))?.url, '/api/pets?limit=1')
  const longer = await answering([{ ...pet, age: 3 }])
  t.equal((await check(longer.url)).code, 0, 'more than callers know does not hurt')
  const other = await answering([{ id: '1', tags: [] }], { '/api/no': {} })
  const { code, out } = await check(other.url)
  t.equal(code, 1)
  t.match(out, /\[\]\.id is a string, not a number; \[\]\.name is missing/)
  t.match(out, /GET \/v1\/no +404 +200 +\d+ +the status is not 404/)
  t.match(out, /would break 2 of 3 probes/)
  t.match(await check('http://127.0.0.1:1'), { code: 1, out: /it does not answer/ })
  t.match(await check(longer.url, { GATEWAY_SECRET: 'x' }), {
    code: 1,
    out: /anybody who reaches it is believed to be the gateway/,
  })
  const json = await check(other.url, {}, '--json')
  t.match(JSON.parse(json.out), { upstream: 'animals', fit: false, findings: [{}, {}, {}] })
  t.match(await check(longer.url, { GATEWAY_SECRET: 'x,' }), {
    code: 2,
    out: /^tollgate: GATEWAY_SECRET has an empty part/,
  })
  const dead = 'http://127.0.0.1:1'
  const gone = await check(dead, { GATEWAY_SECRET: 'x' })
  t.match(gone.out, /, not signed +403 .*ECONNREFUSED.* it does not answer\n/)
  t.notMatch(gone.out, /is believed/)
  t.match(await check('ftp://x'), { code: 2, out: /must be an http or https URL/ })
  t.match(await check(longer.url, {}, '--upstream', 'x'), { code: 2, out: /there are animals/ })
})

t.test('a backend that could be compared with nothing is not fit', async (t) => {
  const wouldBe = await startUpstream(t, ({ url }, response) =>
    response.writeHead(url === '/v1/no' ? 404 : 200).end('{}'),
  )
  const dead = 'http://127.0.0.1:1'
  const file = join(folderOf(t), 'gateway.yaml')
  const check = async (targets: string, probes: string, env: Record<string, string> = {}) => {
    const upstreamMore = `probes: [ ${probes} ]`
    writeFileSync(file, configFor('', 'file: x', { targets, upstreamMore }))
    return runCommand(['upstream', 'check', wouldBe.url, '--config', file], env)
  }
  const asNow = '{ request: GET /v1/pets }'
  const withStatus = '{ request: GET /v1/no, status: 404 }'
  const { code, out } = await check(`[ '\${ANIMALS_URL:-${dead}}' ]`, `${asNow}, ${withStatus}`)
  t.equal(code, 1)
  t.match(out, new RegExp(`GET /v1/pets .* not compared: the present backend ${dead} does not`))
  t.match(out, /GET \/v1\/no +404 +404 .* type and body are not compared: the present/)
  t.match(out, /\nNothing was compared in 1 of 3 probes\.\n/)
  t.notMatch(out, /nothing breaks|would break \d/)
  const lines = out.trimEnd().split('\n')
  t.match(lines.at(-1), `The present backend ${dead} does not answer: is it running?`)
  t.match(lines.at(-1), /ANIMALS_URL, which is not set in this terminal: set it/)
  const both = await runCommand(['upstream', 'check', dead, '--config', file], {})
  t.match(both, { code: 1, out: /it does not answer; not compared: the present backend/ })
  t.match(
    both.out,
    /would break 3 of 3 probes\.\nNothing was compared in 1 of 3 probes\.\nThe present/,
  )
  const set = await check(`[ { url: '\${ANIMALS_URL}' } ]`, asNow, { ANIMALS_URL: dead })
  t.match(set, { code: 1, out: /ANIMALS_URL, as it is set in this terminal\.\n$/ })
  t.match(await check(`[ '${dead}' ]`, asNow), { code: 1, out: /is that of the configuration/ })
  t.match(await check(`[ '${dead}' ]`, withStatus), {
    code: 0,
    out: /2 probes, nothing breaks\.\nThe present backend .* does not answer/,
  })
})

t.test('a report tells whom to write to', async (t) => {
  const more = 'deprecations: [ { operation: "GET /v1/pets/{petId}", since: 2025-12-05 } ]'
  const { run, runJson, gateway } = await commandLine(t, 'file: $DIR/gateway.db', more)
  t.match(await run('deprecations', 'report'), { code: 0, out: /No key has called/ })
  const made = await runJson('keys', 'create', '--plan', 'free', '--name', '=Acme, "Inc"')
  const { app, call } = await gateway()
  for (let i = 0; i < 2; i++) {
    await call('GET', '/v1/pets/1', undefined, { authorization: `Bearer ${String(made['key'])}` })
  }
  await app.close()
  t.match(await run('deprecations', 'report'), {
    code: 0,
    out: /ID +NAME +OPERATION +CALLS +LAST +SUNSET\n\w{12} +=Acme, "Inc" +GET \/v1\/pets\/\{petId\} +2 +20/,
  })
  const csv = await run('deprecations', 'report', '--csv', '--days', '1')
  t.match(
    csv.out,
    /^"key",.*,"last","sunset",.*\r\n"\w{12}","'=Acme, ""Inc""","GET [^,]+","2","20[^,]+Z","","","false"\n$/,
  )
  t.match(await runJson('deprecations', 'report'), [{ key: made['id'], calls: 2 }])
  t.match(await run('deprecations', 'report', '--days', '0'), { code: 2, out: /from 1 to 90/ })
})

t.test('the commands on bans and quotas', async (t) => {
  for (const kind of ['embedded', 'redis'] as const) {
    await t.test(`act on gateways that run: ${kind}`, async (t) => {
      const redis = kind === 'redis' ? await startRedis(t) : undefined
      const store = redis ? `redis: "${redis.url}"` : 'file: $DIR/gateway.db'
      const { run, runJson, gateway } = await commandLine(t, store)
      const gateways = redis ? [await gateway(), await gateway()] : [await gateway()]
      const { id, key } = await runJson('keys', 'create', '--plan', 'free', '--name', 'Acme')
      const headers = { authorization: `Bearer ${String(key)}` }
      const name = String(id)
      const onAll = async (status: number, what: string) => {
        const started = performance.now()
        await until(async () => {
          const all = await Promise.all(
            gateways.map(({ call }) => call('GET', '/v1/pets', undefined, headers)),
          )
          return all.every((answer) => answer.status === status)
        }, 3_000)
        const took = performance.now() - started
        t.ok(took < bound(1_000), `${what}: on every gateway after ${took.toFixed()} ms`)
      }
      await onAll(200, 'as made')
      t.match(await run('bans', 'list'), { code: 0, out: 'No key is banned.' })
      t.match(await run('bans', 'set', name, '--for', '1h'), { code: 0, out: /is banned until 20/ })
      await onAll(429, 'banned')
      t.match(await run('bans', 'list'), { out: new RegExp(`ID +NAME +UNTIL\\n${name} +Acme`) })
      t.match(await runJson('bans', 'list'), [{ id, name: 'Acme' }])
      t.match(await run('bans', 'lift', name), { code: 0, out: /is lifted/ })
      await onAll(200, 'lifted')
      t.match(await run('bans', 'lift', name), { code: 1, out: /the key "\w+" isn’t banned/ })
      t.match(await run('bans', 'set', name, '--for', 'ever'), {
        code: 2,
        out: /--for must be a duration/,
      })
      t.match(await run('bans', 'set', 'nobody', '--for', '1h'), {
        code: 1,
        out: /there is no key/,
      })

      const [first] = gateways
      const left = async () => {
        const { day } = json((await first?.call('GET', '/v1/quota', undefined, headers)) ?? '{}')
        return (day as { remaining: number }).remaining
      }
      t.ok((await left()) < 1_000)
      t.match(await run('quota', 'reset', name), {
        code: 0,
        out: new RegExp(`counters of key ${name} are reset`),
      })
      await until(async () => (await left()) === 1_000, 1_000)
      for (const word of ['list', 'lift', 'set'])
        t.match(await run('bans', word, '--help'), { code: 0 })
      t.match(await run('quota', 'reset', '--help'), { code: 0 })
    })
  }
})
