import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { BloomFilter } from '../../gateway/keys/bloom-filter.ts'
import { CallerCache } from '../../gateway/keys/cache.ts'
import { stateOf } from '../../gateway/keys/caller.ts'
import { KeyDirectory } from '../../gateway/keys/directory.ts'
import { importKeys, rowsIn } from '../../gateway/keys/import.ts'
import { hashOf, newKeyId, newToken } from '../../gateway/keys/token.ts'
import { effectiveLimits, type Plan } from '../../gateway/limits/limits.ts'
import { ConfiguredPlans } from '../../gateway/limits/terms.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { embeddedKeys } from '../../gateway/stores/embedded/keys.ts'
import type { KeyStore } from '../../gateway/keys/store.ts'
import { newKey } from '../contracts/keys.ts'
import { json } from '../support/http.ts'
import { startProcess } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const plans = new Map<string, Plan>([
  ['free', { name: 'free', limits: { perMinute: 60, perDay: 1_000 }, bans: true }],
  ['enterprise', { name: 'enterprise', limits: 'custom', bans: true }],
])

const rules = {
  ...{ strikes: 3, withinMs: 60_000, graceMs: 0, forMs: 1_000, factor: 2, atMostMs: 60_000 },
  memoryMs: 60_000,
}

t.test('the cache', (t) => {
  const stored = (version: number, id: string, more = {}) => ({
    key: newKey({ id, secrets: [{ hash: hashOf('token') }, { hash: hashOf('other') }], ...more }),
    version,
  })
  t.test('never holds more than its size, and keeps what is used', (t) => {
    const cache = new CallerCache(100)
    cache.add('used', stored(1, 'used'))
    for (let i = 0; i < 10_000; i++) {
      cache.add(`t${i}`, stored(1, `k${i}`))
      if (i % 20 === 0 && !cache.get('used')) t.fail(`gone after ${i}`)
      if (cache.size > 100) t.fail(`${cache.size} are held`)
    }
    t.ok(cache.get('used'))
    t.notOk(cache.get('t5'))
    t.end()
  })
  t.test('loses none as long as all fit, in whatever order they come', (t) => {
    const cache = new CallerCache(100)
    let lookUps = 0
    for (let i = 0; i < 1_000; i++) {
      if (cache.get(`t${i % 100}`)) continue
      lookUps++
      cache.add(`t${i % 100}`, stored(1, `k${i % 100}`))
    }
    t.equal(lookUps, 100)
    t.end()
  })
  t.test('takes a change to heart, and no older one after it', (t) => {
    const cache = new CallerCache(100)
    const caller = cache.add('token', stored(5, 'k'))
    t.ok(caller.isValidAt(Number.MAX_VALUE))
    cache.update(stored(7, 'k', { revokedAtMs: 1 }))
    t.equal(cache.get('token')?.isValidAt(0), false)
    cache.update(stored(6, 'k'))
    t.equal(cache.get('token')?.isValidAt(0), false, 'a change that was overtaken')
    t.equal(cache.add('token', stored(5, 'k')).isValidAt(0), false, 'a look-up that was overtaken')
    t.end()
  })
  t.test('knows all tokens of a key, and which of them are gone', (t) => {
    const cache = new CallerCache(3)
    for (const token of ['token', 'other']) cache.add(token, stored(1, 'k'))
    cache.update(stored(2, 'k', { disabled: true }))
    t.equal(cache.get('token')?.isValidAt(0), false)
    t.equal(cache.get('other')?.isValidAt(0), false)
    for (const gone of ['token', 'other']) {
      const left = gone === 'token' ? 'other' : 'token'
      const some = new CallerCache(3)
      some.add('first', stored(1, 'first'))
      for (const token of ['token', 'other']) some.add(token, stored(1, 'k'))
      some.add('third', stored(1, 'third'))
      t.notOk(some.get('first'), 'the oldest has made room')
      t.ok(some.get(left))
      some.add('fourth', stored(1, 'fourth'))
      t.notOk(some.get(gone), `${gone} has made room`)
      some.update(stored(2, 'k', { revokedAtMs: 1 }))
      t.equal(some.get(left)?.isValidAt(0), false, 'the other one still hears of changes')
      for (let i = 0; i < 9; i++) {
        some.add(`more${i}`, stored(1, `more${i}`))
        t.equal(some.size, 3)
      }
      some.update(stored(3, 'k'))
      t.notOk(some.get(left), 'it is gone too')
    }
    t.end()
  })
  t.test('leaves to requests on their way what their caller had', (t) => {
    const cache = new CallerCache(100)
    const caller = cache.add('a-secret', stored(1, 'k', { account: 'acme', plan: 'free' }))
    const terms = new ConfiguredPlans({ plans, bans: rules, nearPercents: [] }).termsFor(caller)
    t.match(terms, { limits: { perMinute: 60 }, bans: rules })
    t.equal(
      new ConfiguredPlans({ plans: new Map(), bans: rules, nearPercents: [] }).termsFor(caller),
      undefined,
      'its plan has gone',
    )
    const own = { plan: 'free', limits: { perMinute: 3 }, methods: ['GET'] }
    const apart = cache.add('other', stored(1, 'apart', own))
    const configured = new ConfiguredPlans({ plans, bans: rules, nearPercents: [] })
    const ownTerms = configured.termsFor(apart)
    t.match(ownTerms, { limits: { perMinute: 3 } }, 'settings of its own')
    t.equal(configured.termsFor(apart), ownTerms, 'are made once')
    t.equal(
      ownTerms?.forbids?.('POST', '/v1/pets', () => ''),
      'method',
    )
    t.throws(
      () => Object.assign(caller, { plan: 'enterprise' }),
      TypeError,
      'a caller is for reading',
    )
    t.strictSame(Reflect.ownKeys(caller.constructor), ['length', 'name', 'prototype'])
    cache.update(stored(2, 'k', { plan: 'free' }))
    t.match(caller, { quota: 'account:acme', account: 'acme' }, 'its key is of no account now')
    t.match(cache.get('a-secret'), { quota: 'key:k', account: undefined })
    t.notMatch(inspect(caller) + JSON.stringify(caller), 'a-secret', 'its token is not printed')
    t.end()
  })
  t.test('comes to those that fell silent, however many were busy', (t) => {
    const cache = new CallerCache(1_000)
    const look = (token: string): number => {
      if (cache.get(token)) return 0
      cache.add(token, stored(1, token))
      return 1
    }
    for (let i = 0; i < 5_000; i++) look(`silent${i % 995}`)
    let lookUps = 0
    for (let i = 0; i < 10_000; i++) lookUps += look(`new${i % 20}`)
    t.ok(lookUps < 100, `${lookUps} look-ups of 20 keys`)
    t.end()
  })
  t.test('holds no more of a token than the token', (t) => {
    const cache = new CallerCache(3)
    const header = `Bearer ${'t'.repeat(50)}`
    const token = header.slice(7)
    const caller = cache.add(token, stored(1, 'k'))
    t.equal(stateOf(caller).token, token)
    t.ok(cache.get(token))
    t.end()
  })
  t.end()
})

t.test('the filter denies nothing that was added, and most of what was not', (t) => {
  const filter = new BloomFilter(20_000)
  const ids = Array.from({ length: 20_000 }, newKeyId)
  for (const id of ids) filter.add(id)
  // One that is taken for known before it comes takes no room, once in thousands.
  for (let i = 0; i < 100; i++) filter.add(newKeyId())
  t.ok(filter.isFull)
  t.ok(ids.every((id) => filter.mayHave(id)))
  let wrong = 0
  for (let i = 0; i < 100_000; i++) if (filter.mayHave(newKeyId())) wrong++
  t.comment(`${wrong} of 100,000 invented ids were taken for known`)
  t.ok(wrong < 50)
  t.end()
})

t.test('invented tokens, from one address and from many, fill no memory', async (t) => {
  const flood = startProcess(t, 'test/support/flood.ts')
  t.equal((await flood.ended).code, 0, flood.output())
  const { grownMb, recalled, keys } = json(flood.stdout())
  t.comment(`memory grew by ${Number(grownMb).toFixed()} MB`)
  // Of a quarter of a million; 60 bytes of each would be more.
  t.ok(Number(grownMb) <= 15)
  t.equal(recalled, true, 'the good key is still there')
  t.equal(keys, 1, 'and nothing was written')
})

t.test(
  'a hundred thousand addresses that are counted by a fleet fill no memory of it',
  async (t) => {
    const { url, client } = await startRedis(t)
    const before = await memoryOf(client)
    const flood = startProcess(t, 'test/support/flood.ts', { args: [url] })
    t.equal((await flood.ended).code, 0, flood.output())
    const { grownMb, lastedMs } = json(flood.stdout())
    const names = await client.keys('tollgate:strangers:*')
    const redisMb = ((await memoryOf(client)) - before) / 2 ** 20
    t.comment(
      `${Number(grownMb).toFixed()} MB here, ${redisMb.toFixed(1)} there: ${names.length} counts`,
    )
    // Of 125,000 addresses; 250 bytes of each would be more.
    t.ok(Number(grownMb) <= 30)
    const most = 100 * (Math.ceil(Number(lastedMs) / 100) + 2)
    t.ok(
      names.length > 100 && names.length <= most,
      `${names.length}, at most a thousand a second: ${most}`,
    )
    t.ok(redisMb < 2 + (names.length * 200) / 2 ** 20)
    const rests = await Promise.all(names.map((name) => client.ttl(name)))
    t.ok(rests.every((seconds) => seconds >= 0))
    const ofTheDay = names.filter((name) => name.includes(':day:'))
    t.ok(ofTheDay.length <= 2, 'one request leaves nothing for a day')
  },
)

async function memoryOf(client: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1])
}

t.test('limits of a key are its own, else its plan’s', (t) => {
  const [free, enterprise] = [...plans.values()]
  if (!free || !enterprise) throw new Error('two plans')
  t.strictSame(effectiveLimits(free), { perMinute: 60, perDay: 1_000 })
  t.strictSame(effectiveLimits(free, { perMinute: 5 }), { perMinute: 5, perDay: 1_000 })
  t.strictSame(effectiveLimits(free, { perDay: 'unlimited' }), { perMinute: 60, perDay: Infinity })
  t.equal(effectiveLimits(enterprise, { perMinute: 5 }), undefined)
  t.strictSame(effectiveLimits(enterprise, { perMinute: 5, perDay: 6 }), {
    perMinute: 5,
    perDay: 6,
  })
  t.end()
})

t.test('importing', async (t) => {
  const store = embeddedKeys(openGatewayFile(':memory:'))
  t.teardown(() => store.close())
  const into = (text: string) => importKeys(text, { store, plans, clock: () => 5 })
  const count = async () => {
    let keys = 0
    for await (const key of store.list()) if (key) keys++
    return keys
  }

  t.test('CSV, with quotes, any order of columns, and hashes in hex', async (t) => {
    const hex = Buffer.from(hashOf('old-token-2'), 'base64url').toString('hex')
    const text = `\ufeffplan,name,token,sha256,perMinute,perDay,expires\r\nfree,"Acme, ""Inc""",old-token-1,,,,2030-01-01\r\n\r\nenterprise,Big,,${hex},5,unlimited,\r\n`
    t.equal(await into(text), 2)
    t.match((await store.find(hashOf('old-token-1')))?.key, {
      name: 'Acme, "Inc"',
      plan: 'free',
      expiresAtMs: Date.UTC(2030, 0),
    })
    t.match((await store.find(hashOf('old-token-2')))?.key, {
      limits: { perMinute: 5, perDay: 'unlimited' },
    })
  })
  t.test('JSON lines', async (t) => {
    t.equal(
      await into(
        `{"token":"old-token-3","plan":"free","account":"a"}\n{"token":"old-token-4","plan":"free","perDay":7}\n`,
      ),
      2,
    )
    t.match((await store.find(hashOf('old-token-4')))?.key.limits, { perDay: 7 })
  })
  t.test('the first mistake is told with its line, and nothing is imported', async (t) => {
    const before = await count()
    for (const [text, sentence] of [
      ['', /no rows/],
      [
        'token,plan\nnew-token-1,free\nnew-token-2,gold\n',
        /^line 3: there is no plan "gold"; there are free, enterprise/,
      ],
      ['token,plan\nnew-token-1,free\nnew-token-1,free\n', /^line 3: its token is that of line 2/],
      [
        'token,plan\nnew-token-1,free\nold-token-3,free\n',
        /^line 3: this token is in the store already/,
      ],
      ['token,plan\nnew-token-1\n', /^line 2: it has 1 fields, but the first line names 2/],
      ['token,plan\n"new,free\n', /^line 2: a quote/],
      ['token,color\n', /^line 1: there is no column "color"/],
      ['plan\nfree\n', /^line 2: a row needs either a token or a sha256/],
      ['plan,token\nenterprise,new-token-1\n', /^line 2: the plan "enterprise" is custom/],
      [
        'plan,token,perMinute\nfree,new-token-1,many\n',
        /^line 2: a limit must be a whole number above 0/,
      ],
      ['plan,token,expires\nfree,new-token-1,soon\n', /^line 2: the expiry isn’t a valid date/],
      ['plan,token\nfree,short\n', /^line 2: a token must be 8 to 512/],
      ['plan,token\nfree,tg_abcdefgh\n', /^line 2: a token that starts with tg_/],
      ['plan,sha256\nfree,abc\n', /^line 2: sha256 must be 64 hexadecimal digits/],
      [
        '{"token":"new-token-1","plan":"free"}\nnonsense\n',
        /^line 2: this isn’t a valid JSON object/,
      ],
      ['{"token":["x"],"plan":"free"}\n', /^line 1: token must be a text or a number/],
    ] as const) {
      await t.rejects(into(text), { message: sentence }, text.slice(0, 40))
    }
    t.equal(await count(), before)
  })
  t.test('20,000 rows in seconds', async (t) => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `token-of-row-${i},free,Row ${i}`)
    const started = performance.now()
    t.equal(await into(`token,plan,name\n${lines.join('\n')}`), 20_000)
    t.comment(`${((performance.now() - started) / 1000).toFixed(1)} s`)
    t.equal((await store.find(hashOf('token-of-row-19999')))?.key.name, 'Row 19999')
  })
  t.equal([...rowsIn('token,plan\na,b\n')][0]?.line, 2)
})

t.test(
  'CSV is read as RFC 4180 has it written, in a time that grows with its length',
  async (t) => {
    const columns = 'token,sha256,plan,name,account,perMinute,perDay,expires,note'.split(',')
    const fieldsOf = (line: string, count: number): string[] => {
      const names = columns.slice(0, count)
      const [row] = rowsIn(`${names.join(',')}\n${line}`)
      return names.map((name) => row?.fields[name] ?? '')
    }
    const content = fc.string({ unit: fc.constantFrom('a', 'ü', '"', ',', ' ', '\t', "'", ';') })
    const field = content.map((text) => ({ text, written: `"${text.replaceAll('"', '""')}"` }))
    const bare = fc
      .string({ unit: fc.constantFrom('a', 'ü', ' ', "'", ';') })
      .map((text) => ({ text, written: text }))
    const space = fc.constantFrom('', ' ', '\t ')
    const written = fc.tuple(space, fc.oneof(field, bare), space)
    fc.assert(
      fc.property(fc.array(written, { minLength: 1, maxLength: 9 }), (row) => {
        const line = row.map(([before, { written }, after]) => before + written + after).join(',')
        if (line.trim() === '') return
        t.strictSame(
          fieldsOf(line, row.length),
          row.map(([, { text }]) => text.trim()),
          JSON.stringify(line),
        )
      }),
      { numRuns: 500 },
    )
    // Whatever else a line may be, it means what it meant to the expression that was in the reader's place.
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '"', ',', ' ', '\t'), maxLength: 14 }),
        (line) => {
          const expected = fieldsByExpression(line)
          if (line.trim() === '' || (expected?.length ?? 0) > columns.length) return
          if (expected)
            t.strictSame(fieldsOf(line, expected.length), expected, JSON.stringify(line))
          else t.throws(() => fieldsOf(line, 1), { message: /^line 2: a quote opens/ }, line)
        },
      ),
      { numRuns: 3_000 },
    )
    const [short, long] = [100_000, 10_000_000].map((length) => {
      const line = `${' '.repeat(length)}x"`
      const started = performance.now()
      t.throws(() => fieldsOf(line, 1), { message: /^line 2: a quote opens or closes/ })
      t.throws(() => fieldsOf(`"${'""'.repeat(length / 2)}`, 1), { message: /^line 2: a quote/ })
      return performance.now() - started
    })
    t.comment(`100,000: ${short?.toFixed(1)} ms; 10,000,000: ${long?.toFixed(1)} ms`)
    t.ok(
      Number(long) < 1_000 * Math.max(1, Number(short)),
      'a hundred times as long, and no square of it',
    )
  },
)

/** A line of CSV parsed by a regular expression, for short lines. */
function fieldsByExpression(line: string): string[] | undefined {
  const fields: string[] = []
  const field = /\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(,|$)/y
  for (;;) {
    const found = field.exec(line)
    if (!found) return undefined
    fields.push((found[1]?.replaceAll('""', '"') ?? found[2] ?? '').trim())
    if (found[3] === '') return fields
  }
}

t.test('the filter is learnt from a store that was out of reach at first', async (t) => {
  const store = embeddedKeys(openGatewayFile(':memory:'))
  t.teardown(() => store.close())
  let asked = 0
  const names = store.names.bind(store)
  const late = { ...store, names: () => (++asked === 1 ? failing() : names()) }
  const directory = new KeyDirectory({ store: late, cacheSize: 10, clock: Date.now })
  t.teardown(() => directory.close())
  t.ok(directory.mayExist(newToken(newKeyId())))
  await until(() => !directory.mayExist(newToken(newKeyId())), 3_000)
  t.equal(asked, 2)
})

async function* failing(): AsyncGenerator<string[]> {
  throw new Error('out of reach')
}

t.test('what is created while the names are still being read is known too', async (t) => {
  const store = embeddedKeys(openGatewayFile(':memory:'))
  t.teardown(() => store.close())
  await store.add(Array.from({ length: 10_000 }, () => newKey()))
  const directory = new KeyDirectory({ store, cacheSize: 10, clock: Date.now })
  t.teardown(() => directory.close())
  const { key, token } = keyAndToken()
  await store.add([key])
  t.ok(directory.mayExist(newToken(newKeyId())), 'until then anything may exist')
  await until(() => !directory.mayExist(newToken(newKeyId())))
  t.ok(directory.mayExist(token))
  t.notOk(directory.mayExist(newToken(key.id)), 'an id alone is no secret')
})

t.test('a filter that is full serves until the larger one is there', async (t) => {
  const store = embeddedKeys(openGatewayFile(':memory:'))
  t.teardown(() => store.close())
  let reads = 0
  let letGo: () => void = () => undefined
  const held = new Promise<void>((resolve) => (letGo = resolve))
  const slow: KeyStore = {
    ...store,
    async *names() {
      if (++reads > 1) await held
      yield* store.names()
    },
  }
  const directory = new KeyDirectory({ store: slow, cacheSize: 10, clock: Date.now })
  t.teardown(() => directory.close())
  const isLearnt = () => !directory.mayExist(newToken(newKeyId()))
  await until(isLearnt)
  const [first] = [keyAndToken()]
  await store.add([first.key])
  for (let i = 0; i < 9_000; i++) {
    const { version = 0 } = (await store.get(first.key.id)) ?? {}
    await store.replace({ ...first.key, name: `name ${i}` }, version)
  }
  t.equal(reads, 1, 'what is known already takes no room')
  await store.add(Array.from({ length: 9_000 }, () => newKey()))
  await until(() => reads === 2)
  const late = keyAndToken()
  await store.add([late.key])
  const known = () => [first, late].every(({ token }) => directory.mayExist(token))
  t.ok(isLearnt() && known(), 'while the names are read again')
  letGo()
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.ok(isLearnt() && known(), 'and after')
  t.equal(reads, 2)
})

function keyAndToken() {
  const id = newKeyId()
  const token = newToken(id)
  return { key: newKey({ id, secrets: [{ hash: hashOf(token) }] }), token }
}

/** One file, as a gateway and another process have it open. */
function twoViews(t: Test) {
  const file = join(t.testdir(), 'gateway.db')
  const open = () => embeddedKeys(openGatewayFile(file))
  const [here, elsewhere] = [open(), open()]
  t.teardown(() => Promise.all([here.close(), elsewhere.close()]))
  return { file, here, elsewhere }
}

t.test(
  'what the filter denies is asked of no file, and what is new is found at once',
  async (t) => {
    const { file, here, elsewhere } = twoViews(t)
    let finds = 0
    const counted: KeyStore = {
      ...here,
      find: (hash) => {
        finds++
        return here.find(hash)
      },
    }
    const known = newKey()
    await here.add([known])
    const directory = new KeyDirectory({ store: counted, cacheSize: 1_000, clock: Date.now })
    t.teardown(() => directory.close())
    t.equal(directory.look(newToken(newKeyId())), 'unknown')
    t.equal(finds, 1, 'until the names are known, the file is asked')
    await until(() => !directory.mayExist(newToken(newKeyId())))
    for (let i = 0; i < 1_000; i++) directory.look(newToken(newKeyId()))
    // One in ten thousand is taken for known.
    t.ok(finds <= 3, `${finds} of 1,000 were asked for`)

    let missed = 0
    for (let i = 0; i < 200; i++) {
      const id = newKeyId()
      const tokens = [newToken(id), `imported-${id}`]
      directory.look(newToken(newKeyId()))
      await elsewhere.add([
        newKey({ id, secrets: tokens.map((token) => ({ hash: hashOf(token) })) }),
      ])
      // The next turn of the loop, in which a request with it could come at the earliest.
      await new Promise((resolve) => setImmediate(resolve))
      missed += tokens.filter((token) => directory.look(token) === 'unknown').length
    }
    t.equal(missed, 0)
    const before = finds
    t.equal(directory.look(newToken(known.id)), 'unknown')
    t.equal(finds, before, 'who knows an id is looked up no more than others')

    const foreign = [newToken(newKeyId()), newToken(newKeyId())]
    const hex = Buffer.from(hashOf(foreign[1] ?? ''), 'base64url').toString('hex')
    const text = `token,sha256,plan\n${foreign[0]},,free\n,${hex},free\n`
    await importKeys(text, { store: elsewhere, plans, clock: Date.now })
    await new Promise((resolve) => setImmediate(resolve))
    const found = foreign.map((token) => directory.look(token))
    t.notOk(
      found.includes('unknown'),
      'tokens of another Tollgate, whose ids are not those of their keys',
    )

    const strange = openGatewayFile(file)
    t.teardown(() => strange.close())
    strange.exec('ALTER TABLE keys RENAME TO gone')
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(directory.look(newToken(newKeyId())), 'unavailable', 'nobody is denied unseen')
    strange.exec('ALTER TABLE gone RENAME TO keys')
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(directory.look(newToken(newKeyId())), 'unknown')
    t.ok(finds > before + 1)
    const settled = finds
    const row = strange.prepare('SELECT version FROM keys WHERE id = ?').pluck().get(known.id)
    strange
      .prepare('UPDATE keys SET record = ?, version = ? WHERE id = ?')
      .run('{', Number(row) * 2, known.id)
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(directory.look(newToken(newKeyId())), 'unknown')
    t.equal(finds, settled + 1, 'a record that can’t be read might be anybody’s')
  },
)

t.test('what was put in place of a file is heard of, however old it is', async (t) => {
  const folder = t.testdir()
  const [older, file] = [join(folder, 'older.db'), join(folder, 'gateway.db')]
  const before = openGatewayFile(older)
  const kept = keyAndToken()
  await embeddedKeys(before, () => 1_000).add([kept.key])
  const store = embeddedKeys(openGatewayFile(file))
  t.teardown(() => store.close())
  await store.add([newKey()])
  const directory = new KeyDirectory({ store, cacheSize: 10, clock: Date.now })
  t.teardown(() => directory.close())
  await until(() => !directory.mayExist(newToken(newKeyId())))
  t.notOk(directory.mayExist(kept.token))
  await before.backup(file)
  before.close()
  await until(() => directory.mayExist(kept.token), 1_000)
})

t.test(
  'many changes are read a piece a turn, however often is asked whether all are',
  async (t) => {
    const { here, elsewhere } = twoViews(t)
    let pieces = 0
    const watch = here.watch({ changed: () => pieces++ })
    t.teardown(() => watch.close())
    await elsewhere.add(Array.from({ length: 20_000 }, () => newKey()))
    let most = 0
    for (let before = 0; !watch.isUpToDate?.(); before = pieces) {
      most = Math.max(most, pieces - before)
      await new Promise((resolve) => setImmediate(resolve))
    }
    t.ok(pieces >= 10)
    // One by itself, and one when the time to look has come.
    t.ok(most <= 3, `${most} in one turn`)
  },
)
