import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { hashOf, newToken } from '../../../gateway/front/keys/token.ts'
import { logChanges } from '../../../gateway/front/records/audit.ts'
import { startAdmin } from '../../support/admin.ts'
import { commandLine } from '../../support/command-line.ts'
import { runCommand } from '../../support/command.ts'
import { caller, json } from '../../support/http.ts'
import { bound } from '../../support/promises.ts'
import { startRedis, watchCommands } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`whose a token is leaves no trace of the token: ${kind}`, async (t) => {
    const redis = kind === 'redis' ? await startRedis(t) : undefined
    const monitored = redis ? await watchCommands(t, redis) : []
    let log = ''
    const { ask, operate, gateway, file } = await startAdmin(t, {
      ...(redis ? { store: `redis: "${redis.url}"` } : {}),
      log: { level: 'trace', target: { write: (text) => (log += text) } },
    })
    const { front } = gateway.app
    t.teardown(logChanges(front.stores.audit, (about, text) => gateway.app.log.info(about, text)))
    const created = await ask('POST', '/admin/keys', { name: 'Acme', plan: 'free' })
    const { id, key: older } = json(created)
    const { key: newer } = json(await ask('POST', `/admin/keys/${String(id)}/rotate`))
    const foreign = 'canary-of-another-system-0123456789'
    const csv = { 'content-type': 'text/csv' }
    // The import holds the token, and hashes it before it asks the store.
    await ask('POST', '/admin/keys/import', `token,plan,name\n${foreign},free,Other\n`, csv)
    const tokens = [older, newer, foreign, newToken(String(id)), 'canary-nobodys-98765'].map(String)
    const [old = '', current = '', imported = '', invented = '', nobodys = ''] = tokens
    const find = (token: string) => ask('POST', '/admin/keys/find', { token })
    t.match(json(await find(current)), { token: 'current', until: null, works: true, key: { id } })
    t.match(json(await find(old)), { token: 'rotated_out', until: /Z$/, works: true, key: { id } })
    t.match(json(await find(imported)), { token: 'current', key: { name: 'Other' } })
    t.match(await find(invented), { status: 404, text: /"No key has this token\."/ })
    t.match(await find(nobodys), { status: 404 })
    t.match(await find(current.slice(0, -1)), { status: 404, text: /mistyped or cut/ })
    const findBy = (config: string) =>
      runCommand(['keys', 'find', '--config', config], {}, { line: current })
    t.match(await findBy(file), {
      out: /current token of the key\. It works\.\nIf others have it, tollgate keys rotate \w+ --overlap 0 ends it at once\.\n/,
    })
    const without = join(dirname(file), 'without.yaml')
    writeFileSync(without, readFileSync(file, 'utf8').replace(/\bfree:/, 'gone:'))
    t.match(await findBy(without), {
      out: /It is valid, but its key is refused: the configuration has no limits for the plan free\.\n/,
    })
    t.match(await ask('PUT', `/admin/bans/${String(id)}`, { for: '1h' }), { status: 200 })
    t.match(await findBy(file), { out: /It is valid, but its key is banned until .*\.\n/ })
    const answers: string[] = []
    for (const token of tokens) {
      const bodies = [
        `{"token":"${token}"`,
        { [token]: 1 },
        { token, [token]: 1 },
        { token: [token] },
      ]
      for (const body of [...bodies, { tokem: token }, { token: `${token} ${token}` }, token]) {
        const { status, text } = await ask('POST', '/admin/keys/find', body)
        t.equal(status, 400)
        answers.push(text)
      }
      const { status, text } = await ask(
        'POST',
        '/admin/keys/find',
        { token },
        { 'content-type': 'text/plain' },
      )
      t.equal(status, 415)
      answers.push(text)
      const command = (line: string, ...more: string[]) =>
        runCommand(['keys', 'find', '--config', file, ...more], {}, { line })
      answers.push((await command(`${token}\n`)).out, (await command(token, '--json')).out)
      const told = await command('', token)
      t.match(told, { code: 2, out: /takes no arguments: what it asks for comes from standard/ })
      answers.push(told.out, (await command('', `--token=${token}`)).out)
    }
    await ask('POST', `/admin/keys/${String(id)}/rotate`, { overlap: '0' })
    const ended = json(await find(current))
    t.match(ended, { token: 'rotated_out', works: false, key: { state: 'active' } })
    await ask('POST', `/admin/keys/${String(id)}/disable`)
    t.match(json(await find(old)), {
      token: 'rotated_out',
      works: false,
      key: { state: 'disabled' },
    })
    await ask('POST', `/admin/keys/${String(id)}/revoke`)
    const text = await runCommand(['keys', 'find', '--config', file], {}, { line: current })
    t.match(text, { code: 0, out: /was rotated out: [^]* The key is revoked\. It doesn’t work/ })
    t.match(await runCommand(['keys', 'find', '--config', file], {}, { line: nobodys }), {
      ...{ code: 1, out: 'tollgate: no key has this token\n' },
    })
    const { stdout: audit } = await runCommand(['audit', '--json', '--config', file], {})
    t.match(await operate('POST', '/admin/keys/find', { token: current }), { status: 401 })
    await until(() => log.includes('"audit":"keys.revoke"'))
    await gateway.app.close()
    const files = redis
      ? ''
      : readdirSync(dirname(file))
          .map((name) => readFileSync(join(dirname(file), name), 'latin1'))
          .join()
    const places = {
      answers: answers.join(),
      log,
      audit,
      files,
      monitored: monitored.join(),
    }
    t.ok(redis ? monitored.length > 50 : files.length > 10_000)
    for (const [place, content] of Object.entries(places)) {
      for (const token of tokens) {
        // The secret part of a token of ours, since logs may have its id.
        const secret = token.slice(token.startsWith('tg_') ? 16 : 0)
        t.notOk(content.includes(secret), `${place} has no token`)
      }
    }
  })
}

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`two gateways and the command line on one store: ${kind}`, async (t) => {
    const redis = kind === 'redis' ? await startRedis(t) : undefined
    const store = redis ? `redis: "${redis.url}"` : 'file: $DIR/gateway.db'
    const { runJson, run, gateway, gatewayProcess, folder, upstream } = await commandLine(
      t,
      store,
      'drain: 0s',
    )
    let log = ''
    const settings = { level: 'trace', target: { write: (text: string) => (log += text) } }
    const secret = { GATEWAY_SECRET: 'hunter2' }
    // Gateways that share a file differ in a process of their own; those that share Redis don't.
    const processes = redis ? [] : [gatewayProcess(secret), gatewayProcess(secret)]
    const urls = redis
      ? [(await gateway(settings)).url, (await gateway(settings)).url]
      : await Promise.all(processes.map(({ url }) => url))
    const calls = urls.map(caller)
    const statuses = (token: unknown) =>
      Promise.all(
        calls.map(
          async (call) =>
            (await call('GET', '/v1/pets', undefined, { authorization: `Bearer ${String(token)}` }))
              .status,
        ),
      )
    const become = async (token: unknown, status: number, what: string) => {
      const started = performance.now()
      await until(async () => (await statuses(token)).every((seen) => seen === status), 3_000)
      const took = performance.now() - started
      t.ok(took < bound(1_000), `${what}: on every gateway after ${took.toFixed()} ms`)
    }
    const { id, key: token } = await runJson('keys', 'create', '--plan', 'free', '--name', 'Acme')
    await become(token, 200, 'made')
    await run('keys', 'disable', String(id))
    await become(token, 401, 'disabled')
    await run('keys', 'enable', String(id))
    await become(token, 200, 'enabled')
    const { key: next } = await runJson('keys', 'rotate', String(id), '--overlap', '0')
    await become(token, 401, 'rotated away')
    await become(next, 200, 'rotated')
    await run('keys', 'revoke', String(id))
    await become(next, 401, 'revoked')

    await t.test('a token used everywhere wrong is written nowhere', async (t) => {
      const { key: canary } = await runJson('keys', 'create', '--plan', 'free', '--name', 'Canary')
      const secret = String(canary)
      const [call] = calls
      if (!call) throw new Error('there are two')
      const answers = [
        await call('GET', `/v1/pets?key=${secret}`, undefined, {
          authorization: `Bearer ${secret}`,
        }),
        await call('GET', `/v1/${secret}`, undefined, {
          cookie: `key=${secret}`,
          authorization: `Basic ${secret}`,
        }),
        await call(
          'POST',
          '/v1/pets',
          { name: secret },
          { 'x-api-key': secret, authorization: `Bearer ${secret}x` },
        ),
        await call('GET', `/${secret}%zz`, undefined, {
          authorization: secret,
          'x-request-id': `!${secret}`,
        }),
      ]
      for (const { text, headers } of answers) t.notMatch(text + JSON.stringify(headers), secret)
      const bySecret = [secret.slice(16, 48), secret]
      const output = log + processes.map((service) => service.output()).join('')
      t.match(output, /"answered"/, 'there are logs')
      const files = readdirSync(folder).filter((name) => name.startsWith('gateway.db'))
      const kept = files.map((name) => readFileSync(join(folder, name), 'latin1')).join('')
      const inRedis = redis ? JSON.stringify(await everything(redis.client)) : ''
      for (const text of bySecret) {
        t.notOk(output.includes(text), 'no log line')
        t.notOk(kept.includes(text) || inRedis.includes(text), 'no store')
      }
      t.ok((kept + inRedis).includes(hashOf(secret)), 'which keeps its hash alone')
      t.notOk(
        upstream.seen.some(({ headers }) =>
          JSON.stringify(headers.authorization ?? headers.cookie ?? '').includes(secret),
        ),
      )
    })
    if (redis) return
    const warned = processes.filter((service) =>
      service.output().includes('another gateway counts in'),
    )
    t.equal(warned.length, 1, 'the second one on a file says that it counts by itself')
    for (const service of processes) {
      service.child.kill('SIGTERM')
      t.strictSame(await service.ended, { code: 0, signal: null })
    }
    await t.test('a secret that can be guessed is warned of, and not told', (t) => {
      for (const service of processes) {
        t.match(service.output(), /"level":40.*GATEWAY_SECRET has fewer than 16 characters/)
        t.notMatch(service.output(), 'hunter2')
      }
      t.end()
    })
  })
}

async function everything(
  client: Awaited<ReturnType<typeof startRedis>>['client'],
): Promise<unknown[]> {
  const names = await client.keys('*')
  return Promise.all(
    names.map(async (name) => [
      name,
      await client.dump(name).catch(() => ''),
      (await client.type(name)) === 'hash' ? await client.hgetall(name) : '',
    ]),
  )
}
