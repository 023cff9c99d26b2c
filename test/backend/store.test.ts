import Sqlite from 'better-sqlite3'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Commits } from '../../backend/commits.ts'
import { openDatabase } from '../../backend/database.ts'
import { seed } from '../../backend/seed.ts'
import { Refusal } from '../../shared/refusal.ts'
import { startStore } from '../support/backend.ts'
import { json } from '../support/http.ts'
import { startProcess } from '../support/process.ts'
import { folderOf } from '../support/folder.ts'

const pet = { name: 'Rex', categoryId: 1 }

t.test('group commit', async (t) => {
  const open = (t: Test) => {
    const file = join(folderOf(t), 'commits.db')
    const database = openDatabase(file)
    const insert = database.prepare<string, { id: number }>(
      `INSERT INTO pets (name, categoryId) VALUES (?, 1) RETURNING id`,
    )
    const commits = new Commits(database)
    const names = () => database.prepare('SELECT name FROM pets ORDER BY id').pluck().all()
    return { file, database, insert, commits, names }
  }

  t.test('writes that arrive together share a commit, answered after it is on disk', async (t) => {
    const { file, database, insert, commits } = open(t)
    t.teardown(() => database.close())
    const reader = new Sqlite(file, { readonly: true })
    t.teardown(() => reader.close())
    const seen = () => Number(reader.prepare('SELECT count(*) FROM pets').pluck().get())
    const before = Number(database.pragma('data_version', { simple: true }))
    const counts = await Promise.all(
      Array.from({ length: 50 }, (_, i) => commits.write(() => insert.get(`p${i}`)).then(seen)),
    )
    t.ok(
      counts.every((count) => count === 50),
      'the first answer already sees the whole group',
    )
    t.equal(Number(database.pragma('data_version', { simple: true })), before)
    const versions = Number(reader.pragma('data_version', { simple: true }))
    await Promise.all([1, 2, 3].map((i) => commits.write(() => insert.get(`q${i}`))))
    t.equal(
      Number(reader.pragma('data_version', { simple: true })),
      versions + 1,
      'one commit for three',
    )
  })

  t.test('a refused write changes nothing and spoils nothing', async (t) => {
    const { database, insert, commits, names } = open(t)
    t.teardown(() => database.close())
    const results = await Promise.allSettled([
      commits.write(() => insert.get('a')),
      commits.write(() => {
        throw new Refusal('conflict', 'no')
      }),
      commits.write(() => insert.get('b')),
    ])
    t.strictSame(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    t.strictSame(names(), ['a', 'b'])
  })

  t.test('a failing write fails alone, and whole', async (t) => {
    const { database, insert, commits, names } = open(t)
    t.teardown(() => database.close())
    const results = await Promise.allSettled([
      commits.write(() => insert.get('a')),
      commits.write(() => {
        insert.get('half')
        database
          .prepare(`INSERT INTO pets (name, categoryId, status) VALUES ('x', 1, 'lost')`)
          .run()
      }),
      commits.write(() => insert.get('b')),
    ])
    t.strictSame(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    t.match(results[1], { reason: { code: 'SQLITE_CONSTRAINT_CHECK' } })
    t.strictSame(names(), ['a', 'b'])
  })

  t.test('more writes than one commit takes are all written, in order', async (t) => {
    const { database, insert, commits, names } = open(t)
    t.teardown(() => database.close())
    const expected = Array.from({ length: 1_000 }, (_, i) => `p${i}`)
    await Promise.all(expected.map((name) => commits.write(() => insert.get(name))))
    t.strictSame(names(), expected)
  })
})

t.test('while another process holds the lock, writes are 503 soon and reads go on', async (t) => {
  const { call, file } = await startStore(t)
  await call('POST', '/v1/pets', pet)
  const other = new Sqlite(file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const started = performance.now()
  const writes = Array.from({ length: 20 }, () => call('POST', '/v1/pets', pet))
  let reads = 0
  let slowest = 0
  let waiting = true
  void Promise.all(writes).then(() => (waiting = false))
  while (waiting) {
    const asked = performance.now()
    t.equal((await call('GET', '/v1/pets/1')).status, 200)
    slowest = Math.max(slowest, performance.now() - asked)
    reads++
  }
  const took = performance.now() - started
  for (const answer of await Promise.all(writes)) {
    t.equal(answer.status, 503)
    t.equal(answer.headers['retry-after'], '1')
    t.equal(json(answer)['code'], 'service_unavailable')
  }
  t.comment(
    `writes refused after ${took.toFixed()} ms; ${reads} reads meanwhile, slowest ${slowest.toFixed(1)} ms`,
  )
  // Were they held up, the first one would have waited for as long as the writes.
  t.ok(reads >= 2, 'reads were answered meanwhile')
  other.exec('ROLLBACK')
  t.equal((await call('POST', '/v1/pets', pet)).status, 201, 'and writes work again')
  other.exec('BEGIN IMMEDIATE')
  const patient = call('POST', '/v1/pets', pet)
  setTimeout(() => other.exec('ROLLBACK'), 40)
  t.equal((await patient).status, 201, 'a short lock is waited for')
})

t.test('a full disk refuses writes, not reads, and is forgotten once there is room', async (t) => {
  const { call, database } = await startStore(t)
  await call('POST', '/v1/pets', pet)
  const pages = Number(database.pragma('page_count', { simple: true }))
  database.pragma(`max_page_count = ${pages}`)
  const name = 'x'.repeat(255)
  const statuses = new Set<number>()
  for (let i = 0; i < 8; i++) {
    const answers = await Promise.all(
      Array.from({ length: 32 }, () => call('POST', '/v1/pets', { name, categoryId: 1 })),
    )
    for (const { status } of answers) statuses.add(status)
  }
  t.strictSame([...statuses].sort(), [201, 503])
  const full = await call('POST', '/v1/pets', { name, categoryId: 1 })
  t.equal(full.status, 503)
  t.equal(full.headers['retry-after'], '1')
  t.equal((await call('GET', '/v1/pets/1')).status, 200)
  t.equal(
    (await call('PATCH', '/v1/pets/1', { status: 'sold' })).status,
    200,
    'what needs no room is written',
  )
  database.pragma('max_page_count = 1000000')
  t.equal((await call('POST', '/v1/pets', { name, categoryId: 1 })).status, 201)
  t.equal(database.pragma('integrity_check', { simple: true }), 'ok')
})

t.test('files that another program has written', (t) => {
  for (const format of [1, 3]) {
    t.test(`one of format ${format} is refused with a sentence and left as it is`, (t) => {
      const file = join(folderOf(t), 'other.db')
      const other = new Sqlite(file)
      other.exec(`CREATE TABLE pets (id INTEGER PRIMARY KEY); PRAGMA user_version = ${format}`)
      other.close()
      const before = readFileSync(file)
      t.throws(() => openDatabase(file), {
        message: new RegExp(
          `other.db can't be used: it has format ${format}, .* knows format 2 alone: start the version that wrote it, or`,
        ),
      })
      t.strictSame(readFileSync(file), before)
      t.end()
    })
  }
  t.test('one that is no database is refused and left as it is', (t) => {
    const file = join(folderOf(t), 'text.db')
    writeFileSync(file, 'this is no database, '.repeat(100))
    t.throws(() => openDatabase(file), {
      message: /text\.db can't be used: file is not a database/,
    })
    t.equal(readFileSync(file, 'utf8'), 'this is no database, '.repeat(100))
    t.end()
  })
  t.end()
})

t.test('several processes that make the same new file at once all get it', async (t) => {
  for (let round = 0; round < 2; round++) {
    const env = { PORT: '0', DATABASE: join(folderOf(t), `${round}.db`), LOG_LEVEL: 'silent' }
    const services = Array.from({ length: 4 }, () => startProcess(t, 'backend/main.ts', { env }))
    t.equal((await Promise.all(services.map(({ url }) => url))).length, 4)
    for (const { child } of services) child.kill('SIGKILL')
  }
})

t.test('a folder that is not there is made', (t) => {
  const file = join(folderOf(t), 'a', 'b', 'animals.db')
  openDatabase(file).close()
  t.ok(existsSync(file))
  t.end()
})

t.test('a page at the end of 200,000 rows', async (t) => {
  const { call, database } = await startStore(t)
  seed(database, 200_000, () => undefined)
  for (const filter of ['', '&status=sold']) {
    const last = await call('GET', `/v1/pets?limit=20&after=199900${filter}`)
    t.equal(JSON.parse(last.text).length, 20)
  }
  t.match((await call('GET', '/v1/pets?limit=20&after=199900')).headers['link'], /after=199920/)
  // SQLite's plan rather than a time: every list is a search by its index.
  const plans = database
    .prepare<unknown[], { detail: string }>(
      `EXPLAIN QUERY PLAN SELECT * FROM pets WHERE status = 'sold' AND id > 5 ORDER BY id LIMIT 20`,
    )
    .all()
  t.match(plans, [
    { detail: /SEARCH pets USING INDEX petsByStatus \(status=\? AND (?:id|rowid)>\?\)/ },
  ])
  t.equal(plans.length, 1, 'and nothing is sorted')
})
