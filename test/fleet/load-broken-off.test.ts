import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openToInspect } from '../../gateway/front/stores/embedded/gateway-file.ts'
import { openStores } from '../../gateway/front/stores/open.ts'
import { newKey } from '../contracts/keys.ts'
import { dumpText, filled, open, storeAt } from '../support/filled-store.ts'
import { folderOf } from '../support/folder.ts'
import { configFor } from '../support/gateway.ts'
import { root } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

t.test('what standard input has loaded before it is refused has no key', async (t) => {
  const folder = folderOf(t)
  const { url, client } = await startRedis(t)
  const source = storeAt(join(folder, 'source.db'))
  const { stores, keys } = await filled(t, source)
  await stores.close()
  const lines = (await dumpText(source)).trimEnd().split('\n')
  const config = join(folder, 'gateway.yaml')
  writeFileSync(config, configFor('http://127.0.0.1:1', `redis: "${url}"`))
  const loading = (text: string) => {
    const args = ['store', 'load', '--config', config, '--by', 'me']
    return spawnSync(process.execPath, ['gateway/office/cli/main.ts', ...args], {
      ...{ cwd: root, input: text, encoding: 'utf8' },
    })
  }
  const quota = lines.find((line) => line.includes('"account:acme"')) ?? ''
  const many = Array.from({ length: 1_500 }, (_, i) => quota.replace('acme', `acme${i}`))
  const cut = [...lines.slice(0, 2), ...many, ...lines.slice(2, -1)]
  const { status, stderr } = loading(`${cut.join('\n')}\n`)
  t.equal(status, 1)
  t.match(stderr, /tollgate: line \d+ of the dump: the end is missing/)
  t.ok((await client.dbsize()) > 0)
  t.equal(await client.exists('tollgate:{keys}:records'), 0)
  const again = loading(`${lines.join('\n')}\n`)
  t.match(
    again.stderr,
    /isn't empty: it has quotas\. .*or remove what a load that was broken off has left/,
  )
  await client.flushall()
  t.match(loading(`${lines.join('\n')}\n`), {
    status: 0,
    stdout: /Loaded into Redis at .*:\n +6 +keys\n/,
  })
  const loaded = await open(t, storeAt({ url }, 'tollgate:'))
  t.match(await loaded.keys.find(keys[0]?.secrets[0]?.hash ?? ''), { key: { name: 'changed' } })
  t.match(await loaded.audit.list({ fromMs: 0, limit: 1 }), [
    { what: 'store.load', by: 'me', after: { from: 'standard input' } },
  ])
})

t.test('a load that is killed leaves no key that works', async (t) => {
  const folder = folderOf(t)
  const { url, client } = await startRedis(t)
  const source = storeAt(join(folder, 'source.db'))
  const made = await openStores(source)
  const keys = Array.from({ length: 20_000 }, () => newKey())
  await made.keys.add(keys)
  await made.close()
  const dumped = join(folder, 'many.dump')
  writeFileSync(dumped, await dumpText(source))
  const existing = join(folder, 'existing.db')
  await (await openStores(storeAt(existing))).close()
  for (const store of [`redis: "${url}"`, `file: ${existing}`]) {
    const config = join(folder, 'gateway.yaml')
    writeFileSync(config, configFor('http://127.0.0.1:1', store))
    const args = ['store', 'load', dumped, '--config', config]
    const child = spawn(process.execPath, ['gateway/office/cli/main.ts', ...args], { cwd: root })
    const ended = once(child, 'exit')
    const settings = store.startsWith('redis') ? storeAt({ url }, 'tollgate:') : storeAt(existing)
    const isWriting = async () => {
      if (settings.redis) return (await client.hlen('tollgate:{keys}:pending')) > 0
      const database = openToInspect(existing)
      try {
        return Number(database.prepare('SELECT count(*) FROM pending').pluck().get()) > 0
      } finally {
        database.close()
      }
    }
    await until(isWriting)
    child.kill('SIGKILL')
    await ended
    t.equal(await isWriting(), true, 'it was killed in the middle')
    const stores = await open(t, settings)
    for (const { id, secrets } of [...keys.slice(0, 50), ...keys.slice(-50)]) {
      t.equal(await stores.keys.get(id), undefined)
      t.equal(await stores.keys.find(secrets[0]?.hash ?? ''), undefined)
    }
    await stores.close()
  }
})
