import assert from 'node:assert/strict'
import type { Key } from '../front/keys/key.ts'
import { hashOf, newKeyId, newToken } from '../front/keys/token.ts'
import type { KeyFilter } from '../front/keys/filter.ts'
import type { KeyStore, Watch } from '../front/keys/store.ts'
import { promised, until, type Contract, type Promises } from './contract.ts'

/** Two views of one store, as two processes have them. */
export type TwoKeys = Readonly<{
  first: KeyStore
  second: KeyStore
  close: () => Promise<void>
}>

export function newKey(more: Partial<Key> = {}): Key {
  const id = more.id ?? newKeyId()
  const secrets = [{ hash: hashOf(newToken(id)) }]
  return { id, name: 'Acme', plan: 'free', createdAtMs: 1_790_000_000_000, secrets, ...more }
}

async function all(store: KeyStore): Promise<Key[]> {
  const found: Key[] = []
  for await (const key of store.list()) found.push(key)
  return found
}

/** All pages of the keys that a filter takes, and a step between two of them. */
export async function pagesOf(
  store: KeyStore,
  filter: KeyFilter,
  {
    limit = 7,
    nowMs = 1_800_000_000_000,
    between = () => Promise.resolve<unknown>(undefined),
  } = {},
): Promise<Key[]> {
  const found: Key[] = []
  let after: string | undefined
  do {
    const { keys, end } = await store.page({ filter, limit, after, nowMs })
    if (keys.length !== limit && (end !== undefined || keys.length > limit)) {
      throw new Error(`a page of ${limit} has ${keys.length}`)
    }
    found.push(...keys)
    await between()
    after = end
  } while (after !== undefined)
  return found
}

const namesOf = (keys: readonly Key[]): string[] => keys.map(({ name }) => name)

/** The promises of a store of keys, for any technology. */
export function keysContract(contract: Contract<TwoKeys>): void {
  promised(contract, promises)
}

const promises: Promises<TwoKeys> = {
  'a record without a token goes, if it is as it was read, and may come again': async ({
    first,
    second,
  }) => {
    const record = newKey({
      kind: 'jwt',
      issuer: 'i',
      subject: 's',
      name: 'Outside',
      secrets: [],
    })
    assert.deepEqual(await first.add([record]), {})
    const stored = await second.get(record.id)
    assert.deepEqual(stored?.key, record)
    if (!stored) return
    assert.equal(await second.remove({ ...stored, version: stored.version - 1 }), false)
    assert.ok(await first.replace({ ...record, plan: 'pro' }, stored.version))
    assert.equal(await second.remove(stored), false, 'it has changed')
    const changed = await second.get(record.id)
    assert.ok(changed && (await second.remove(changed)))
    assert.equal(await first.get(record.id), undefined)
    assert.deepEqual(await pagesOf(first, { search: 'outside' }), [])
    assert.ok(changed && !(await first.remove(changed)))
    assert.deepEqual(await first.add([record]), {})
    const again = await second.get(record.id)
    assert.ok(again && changed && again.version > changed.version)
    assert.equal((await pagesOf(first, { search: 'outside' })).length, 1)
    assert.ok(again && (await first.remove(again)))
  },

  'what was never added is not there': async ({ first }) => {
    assert.equal(await first.find('nothing'), undefined)
    assert.equal(await first.get('nothing'), undefined)
    assert.deepEqual(await all(first), [])
  },

  'a key comes back as it was put, by its id and each of its secrets': async ({
    first,
    second,
  }) => {
    const key = newKey({
      name: 'Ünïcode "quoted" \\ \u2028 "batch":"x"',
      account: 'acme',
      limits: { perMinute: 5, perDay: 'unlimited' },
      expiresAtMs: 1_890_000_000_000,
      methods: ['GET'],
      paths: ['/v1/pets'],
      addresses: ['10.0.0.0/8'],
      note: 'n',
      secrets: [{ hash: 'one' }, { hash: 'two', untilMs: 5 }],
    })
    assert.deepEqual(await first.add([key]), {})
    assert.deepEqual((await second.get(key.id))?.key, key)
    assert.deepEqual((await second.find('one'))?.key, key)
    assert.deepEqual((await second.find('two'))?.key, key)
    assert.deepEqual(await all(second), [key])
  },

  'of keys that are added together one that is taken keeps all out': async ({ first }) => {
    const taken = newKey({ secrets: [{ hash: 'one' }, { hash: 'two' }] })
    await first.add([taken])
    const before = (await all(first)).length
    const sameSecret = newKey({ secrets: [{ hash: 'two' }] })
    assert.deepEqual(await first.add([newKey(), newKey(), sameSecret]), { clash: 2 })
    assert.deepEqual(await first.add([newKey(), newKey({ id: taken.id })]), { clash: 1 })
    assert.equal((await all(first)).length, before)
  },

  'a replacement holds only for the version that was read': async ({ first, second }) => {
    const key = newKey()
    await first.add([key])
    const read = await first.get(key.id)
    const version = read?.version ?? 0
    assert.equal(
      await second.replace(
        { ...key, name: 'second', secrets: [{ hash: 'new' }, ...key.secrets] },
        version,
      ),
      true,
    )
    assert.equal(await first.replace({ ...key, name: 'first' }, version), false)
    const now = await first.find('new')
    assert.equal(now?.key.name, 'second')
    assert.ok((now?.version ?? 0) > version, 'and has a higher one')
    assert.equal(await first.replace(newKey(), 1), false, 'nor is a key made that was not there')
  },

  'changes by two at once are all made': async ({ first, second }) => {
    const key = newKey({ name: '0' })
    await first.add([key])
    const addOne = async (store: KeyStore): Promise<void> => {
      for (;;) {
        const read = await store.get(key.id)
        if (!read) throw new Error('gone')
        const name = String(Number(read.key.name) + 1)
        if (await store.replace({ ...read.key, name }, read.version)) return
      }
    }
    await Promise.all(Array.from({ length: 20 }, (_, i) => addOne(i % 2 ? first : second)))
    assert.equal((await first.get(key.id))?.key.name, '20')
  },

  'pages hold every key once, by name and then by id': async ({ first, second }) => {
    const account = 'paged'
    const names = ['b', 'A', 'ä', 'B', 'a', 'Z', '😀', 'Ω', 'a b', '~', 'a\u0300', 'zz', 'a']
    const keys = names.map((name) => newKey({ name, account }))
    await first.add(keys)
    for (const limit of [1, 3, names.length, 1_000]) {
      const found = await pagesOf(second, { account }, { limit })
      const sorted = ['A', 'a', 'a', 'a b', 'b', 'B', 'Z', 'zz', '~', 'a\u0300', 'ä', 'Ω', '😀']
      assert.deepEqual(
        namesOf(found).map((name) => name.toLowerCase()),
        sorted.map((name) => name.toLowerCase()),
      )
      const twins = found.filter(({ name }) => name.toLowerCase() === 'a').map(({ id }) => id)
      assert.deepEqual(twins, [...twins].sort())
    }
    assert.deepEqual(await second.page({ filter: { account }, limit: 13, nowMs: 0 }), {
      keys: await pagesOf(second, { account }),
    })
    let added = 0
    const add = () => first.add([newKey({ name: `${'aM~'.charAt(added % 3)}${added++}`, account })])
    const meanwhile = await pagesOf(second, { account }, { limit: 2, between: add })
    const ids = meanwhile.map(({ id }) => id)
    assert.equal(new Set(ids).size, ids.length, 'each once')
    for (const { id } of keys) assert.ok(ids.includes(id), 'while others are added')
  },

  'keys are found by their reference, exactly, and by a part of it': async ({ first, second }) => {
    const of = (name: string, reference?: string) => newKey({ name, reference, account: 'refs' })
    const keys = [of('a', 'cus_1'), of('b', 'cus_12'), of('c'), of('d', 'cus_1'), of('e', 'CUS_1')]
    await first.add(keys)
    const found = async (filter: KeyFilter) =>
      namesOf(await pagesOf(second, { account: 'refs', ...filter }, { limit: 2 })).join()
    assert.equal(await found({ reference: 'cus_1' }), 'a,d')
    assert.equal(await found({ reference: 'CUS_1' }), 'e')
    assert.equal(await found({ reference: 'cus_' }), '')
    assert.equal(await found({ search: 'us_12' }), 'b')
    assert.equal(await found({ search: 'cus' }), 'a,b,d,e')
  },

  'a search looks into name, account and note, in any case, and at the id': async ({
    first,
    second,
  }) => {
    const account = 'Straße 7'
    const ids = ['Se4rchAAAA01', 'Se4rchAAAA02', 'Se4rchAAAA03']
    const [one, two, three] = ids.map((id, i) =>
      newKey({
        id,
        account,
        name: ['ΟΔΟΣ Éclair', 'ÇILEK 100%', 'Ganz [a-z] .*%w'][i] ?? '',
        plan: ['p1', 'planet', 'p1'][i] ?? '',
        ...(i === 2 ? { note: 'K\u212A — e\u0301t\u00e9' } : {}),
      }),
    )
    if (!one || !two || !three) throw new Error('three were made')
    await first.add([one, two, three])
    const found = async (search: string, more: KeyFilter = {}): Promise<string[]> => {
      const paged = await pagesOf(second, { account, search, ...more })
      return paged.map(({ id }) => id.slice(-1)).sort()
    }
    const rows: [search: string, expected: string][] = [
      ['', '123'],
      ['STRASSE', '123'],
      ['straße', '123'],
      ['οδος', '1'],
      ['οδοσ', '1'],
      ['E\u0301CLAIR', '1'],
      ['çilek', '2'],
      ['100%', '2'],
      ['%', '23'],
      ['.*', '3'],
      ['[a-z]', '3'],
      ['%w', '3'],
      ['kk', '3'],
      ['ÉTÉ', '3'],
      ['se4rchaaaa0', '123'],
      ['Se4rchAAAA02', '2'],
      ['4rchAAAA02', ''],
      ['planet', ''],
      ['7\x03', ''],
      ['\x01', ''],
      ['\0', ''],
      ['\ud800', ''],
      ['7a', ''],
      ['x'.repeat(10_000), ''],
    ]
    for (const [search, expected] of rows) {
      assert.equal((await found(search)).join(''), expected, JSON.stringify(search.slice(0, 20)))
    }
    assert.deepEqual(await found('', { name: 'straße' }), [])
    assert.deepEqual(await found('strasse', { name: 'éclair' }), ['1'])
    assert.deepEqual(await found('', { plan: 'p1' }), ['1', '3'])
    assert.deepEqual(await found('', { plan: 'p' }), [])
    assert.deepEqual(await pagesOf(second, { account: 'STRASSE 7' }), [], 'an account is exact')
  },

  'a page has the states that are wanted, at its time': async ({ first, second }) => {
    const account = 'states'
    const nowMs = 1_800_000_000_000
    const of = (name: string, more: Partial<Key> = {}) => newKey({ account, name, ...more })
    await first.add([
      of('active'),
      of('ends later', { expiresAtMs: nowMs + 1 }),
      of('ended', { expiresAtMs: nowMs }),
      of('disabled', { disabled: true, expiresAtMs: 1 }),
      of('revoked', { disabled: true, revokedAtMs: 5 }),
    ])
    const found = async (filter: KeyFilter, at = nowMs) =>
      namesOf(await pagesOf(second, { account, ...filter }, { nowMs: at })).join()
    assert.equal(await found({}), 'active,disabled,ended,ends later')
    assert.equal(await found({ all: true }), 'active,disabled,ended,ends later,revoked')
    assert.equal(await found({ state: 'active' }), 'active,ends later')
    assert.equal(await found({ state: 'active' }, nowMs + 1), 'active')
    assert.equal(await found({ state: 'expired' }), 'ended')
    assert.equal(await found({ state: 'disabled' }), 'disabled')
    assert.equal(await found({ state: 'revoked' }), 'revoked')
  },

  'a page has keys as they are now': async ({ first, second }) => {
    const account = 'changing'
    const key = newKey({ name: 'before', account })
    await first.add([key])
    const change = async (changed: Partial<Key>): Promise<void> => {
      const { version = 0 } = (await first.get(key.id)) ?? {}
      assert.ok(await first.replace({ ...key, ...changed }, version))
    }
    for (const name of ['after', 'before', 'before', 'Before', 'x']) {
      await change({ name })
      assert.deepEqual(namesOf(await pagesOf(second, { account })), [name])
      const [found] = await pagesOf(second, { account, search: name })
      assert.equal(found?.name, name)
    }
    await change({ account: 'elsewhere' })
    assert.deepEqual(await pagesOf(second, { account }), [])
    assert.equal((await pagesOf(second, { account: 'elsewhere' })).length, 1)
  },

  'many keys are there all at once': async ({ first, second }) => {
    const before = (await all(second)).length
    const keys = Array.from({ length: 1_700 }, () => newKey())
    const written: number[] = []
    const [early, late] = [keys[0], keys.at(-1)].map((key) => key?.secrets[0]?.hash ?? '')
    let partly = 0
    let adding = true
    const adds = first
      .add(keys, (n) => written.push(n))
      .then((added) => {
        adding = false
        return added
      })
    while (adding) {
      if ((await second.find(early ?? '')) && !(await second.find(late ?? ''))) partly++
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.deepEqual(await adds, {})
    assert.equal(partly, 0, 'never some of them')
    assert.equal((await all(second)).length - before, 1_700)
    assert.equal(written.at(-1), 1_700)
    const last = keys.at(-1) ?? newKey()
    assert.deepEqual((await second.find(last.secrets[0]?.hash ?? ''))?.key, last)
    const clash = await first.add([...Array.from({ length: 900 }, () => newKey()), last])
    assert.deepEqual(clash, { clash: 900 })
    assert.equal((await all(second)).length - before, 1_700, 'and none of them if one is taken')
    const paged = await pagesOf(second, { all: true }, { limit: 1_000 })
    assert.deepEqual(
      paged.map(({ id }) => id).sort(),
      (await all(second)).map(({ id }) => id).sort(),
      'and so on the pages',
    )
  },

  'keys are asked for by many ids in batches, and only those that are there come': async ({
    first,
    second,
  }) => {
    const known = newKey({ name: 'a "b" \\', reference: 'a"\\b' })
    await first.add([known, ...Array.from({ length: 1_700 }, () => newKey())])
    for await (const keys of second.named([known.id])) {
      const { id, name, reference } = known
      assert.deepEqual(keys, [{ id, name, reference }])
    }
    const ids = (await all(first)).map(({ id }) => id)
    const found: string[] = []
    let batches = 0
    for await (const keys of second.named([...ids, 'nobody'])) {
      batches++
      found.push(...keys.map(({ id }) => id))
    }
    assert.deepEqual(found.sort(), ids.sort())
    assert.ok(batches >= 5 && batches < 50, `${batches} batches for ${ids.length}`)
    for await (const keys of second.named([])) assert.deepEqual(keys, [])
  },

  'every hash is named, and nothing else': async ({ first }) => {
    await first.add(Array.from({ length: 500 }, () => newKey()))
    const two = newKey({ secrets: [{ hash: 'one' }, { hash: 'two' }] })
    await first.add([two])
    const { version = 0 } = (await first.get(two.id)) ?? {}
    await first.replace({ ...two, secrets: [{ hash: 'three' }, ...two.secrets] }, version)
    const names = new Set<string>()
    for await (const batch of first.names()) for (const name of batch) names.add(name)
    const hashes = (await all(first)).flatMap(({ secrets }) => secrets.map(({ hash }) => hash))
    assert.equal(hashes.length, 503)
    for (const hash of hashes) if (!names.delete(hash)) assert.fail(`the hash ${hash}`)
    assert.deepEqual([...names], [])
  },

  'who watches hears of every change within a second, whoever made it': async ({
    first,
    second,
  }) => {
    const heard = [new Map<string, string>(), new Map<string, string>()]
    const watches = [first, second].map((store, i) =>
      store.watch({
        changed: (keys) => keys.forEach(({ key }) => heard[i]?.set(key.id, key.name)),
      }),
    )
    const hasHeard = (key: Key) => heard.every((names) => names.get(key.id) === key.name)
    try {
      await new Promise((go) => setTimeout(go, 300))
      const key = newKey({ name: 'made' })
      await first.add([key])
      await until(() => hasHeard(key), 'a new key')
      const version = (await first.get(key.id))?.version ?? 0
      const changed = { ...key, name: 'changed' }
      await second.replace(changed, version)
      await until(() => hasHeard(changed), 'a change')
      const many = Array.from({ length: 2_300 }, () => newKey())
      await second.add(many)
      await until(() => many.every(hasHeard), 'many new keys')
      const isUpToDate = (watch: Watch) => Date.now() - watch.upToDateAtMs < 1_000
      await until(() => watches.every(isUpToDate), 'watches that are up to date')
    } finally {
      watches.forEach((watch) => watch.close())
    }
  },
}
