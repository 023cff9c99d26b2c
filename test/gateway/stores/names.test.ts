import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { SwapProgress } from '../../../gateway/front/swaps/progress.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { filled, storeAt } from '../../support/filled-store.ts'
import { startGateway } from '../../support/gateway.ts'
import { root } from '../../support/process.ts'
import { entry, startReceiver } from '../../support/receiver.ts'
import { table, textOf } from '../../support/readme.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

const stores = 'gateway/front/stores'
const prefix = 'names:'

/** The rows of a table of the README, with the file that each leads to. */
function rowsOf(first: string) {
  return table(`${stores}/README.md`, first).map(([name = '', , lives = '', link = '']) => {
    const file = /\]\((.*)\)/.exec(link)?.[1] ?? ''
    return { name, lives, text: textOf(`${stores}/${file}`), file }
  })
}

const inRedis = rowsOf('name in Redis').map((row) => ({
  ...row,
  pattern: row.name.replace(/[A-Z]+/g, '*'),
}))

/** The names that a source writes, with * for what varies. */
function namesIn(text: string): string[] {
  const heads = [...text.matchAll(/`\$\{(?:this\.#)?prefix\}([^`]+)`/g)].map(
    ([, name = '']) => name,
  )
  const parts = [...text.matchAll(/\b(?:name|ofKeys)\((['`])(.+?)\1\)/g)].map(
    ([, , part = '']) => part,
  )
  const names = heads.flatMap((head) =>
    head.endsWith('${what}') ? parts.map((part) => head.replace('${what}', part)) : head,
  )
  return names.map((name) => name.replace(/\$\{[^}]*\}/g, '*').replace(/:$/, ':*'))
}

/** Whether a name fits a pattern. */
function fits(name: string, pattern: string): boolean {
  return new RegExp(`^${pattern.replace(/[{}]/g, '\\$&').replaceAll('*', '.+')}$`).test(name)
}

const sources = readdirSync(join(root, stores, 'redis')).filter((file) => file.endsWith('.ts'))
const written = new Set(sources.flatMap((file) => namesIn(textOf(`${stores}/redis/${file}`))))

const progress: SwapProgress = {
  state: 'moving',
  step: 0,
  from: -1,
  isPaused: false,
  sinceMs: 0,
  round: 1,
}

t.test('every table of a gateway’s file is told, with a file that uses it', (t) => {
  const database = openGatewayFile(join(folderOf(t), 'gateway.db'))
  t.teardown(() => database.close())
  const tables = database
    .prepare<[], string>(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`,
    )
    .pluck()
    .all()
  const rows = rowsOf('table of the file')
  t.strictSame(rows.map(({ name }) => name).sort(), tables.sort())
  for (const { name, text, file } of rows) {
    // The tables of counts and lists are made by the names of these.
    const inSource = name.replace(/^(counts|list)_[a-z]+/, '$1_\\$\\{name\\}')
    t.match(text, new RegExp(`(?:FROM|INTO|UPDATE) ${inSource}(?!\\w)`), `${file}: ${name}`)
  }
  t.end()
})

t.test('every name that a source writes for Redis is told, with its file', (t) => {
  const patterns = inRedis.map(({ pattern }) => pattern)
  t.ok(written.size > 20, `${written.size} of them`)
  t.strictSame(
    [...written].filter((name) => !patterns.includes(name)),
    [],
  )
  for (const { pattern, text, file } of inRedis) {
    if (written.has(pattern)) t.ok(namesIn(text).includes(pattern), `${file}: ${pattern}`)
  }
  t.end()
})

t.test('every name that is left in Redis is told, with its lifetime, and no other', async (t) => {
  const redis = await startRedis(t)
  const { url, got } = await startReceiver(t, () => 500)
  const gateway = await startGateway(t, {
    store: `redis: "${redis.url}", prefix: "${prefix}"`,
    more: `notices: [ ${entry(url)} ]`,
  })
  await filled(t, storeAt({ url: redis.url }, prefix))
  const { headers } = await gateway.key({ limits: { perMinute: 1 } })
  for (const each of [headers, headers, {}]) await gateway.call('GET', '/v1/x', undefined, each)
  const { swaps, fleet } = gateway.stores
  const swap = { upstream: 'animals', id: 'a swap' }
  await swaps.change(swap, 0, progress)
  await swaps.look(swap, { by: 'us', round: progress.round, counts: '' })
  await fleet.take('a lease', 'us', 'a test')
  await until(async () => {
    await gateway.app.office.notices.tick()
    return got.length > 0
  })
  await gateway.app.front.flushCounts()
  const names = await redis.client.keys(`${prefix}*`)
  t.ok(names.length > 20, `${names.length} of them`)
  const isLeft = new Set<string>()
  for (const name of names) {
    const row = inRedis.find(({ pattern }) => fits(name.slice(prefix.length), pattern))
    if (!row) t.fail(`${name} has no row`)
    else {
      isLeft.add(row.pattern)
      const isForGood = (await redis.client.ttl(name)) === -1
      t.equal(isForGood, row.lives.startsWith('for good'), `${name} lives ${row.lives}`)
    }
  }
  const others = inRedis.filter(({ pattern }) => !written.has(pattern) && !isLeft.has(pattern))
  t.strictSame(others, [], 'and nothing else')
})
