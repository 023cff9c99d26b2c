import { readFileSync } from 'node:fs'
import t from 'tap'
import { loadedFrom } from '../../../gateway/office/config/load.ts'
import type { FleetView } from '../../../gateway/office/fleet/view.ts'
import type { Snapshot } from '../../../gateway/office/live/snapshot.ts'
import { startAdmin } from '../../support/admin.ts'
import { startGateway } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { startRedis } from '../../support/redis.ts'
import { startSides, swapSeen, unlimitedPlan } from '../../support/sides.ts'
import { pause } from '../../support/traffic.ts'
import { until } from '../../support/until.ts'

t.test('gateways whose files differ only in port and name go by one configuration', async (t) => {
  const redis = await startRedis(t)
  const { old, next } = await startSides(t)
  const written = { store: `redis: "${redis.url}"`, upstream: old.upstream }
  const { ask, operate, file, write } = await startAdmin(t, {
    ...{ ...written, more: `${unlimitedPlan}\nname: edge-1` },
  })
  const mate = await startGateway(t, { ...written, more: 'name: edge-2' })
  const alike = (text: string): string =>
    text.replace('name: edge-1', 'name: edge-2').replace('port: 0', 'port: 8080')
  const other = (text: string): string => alike(text).replace('unlimited,', '60,')
  const goBy = (change: (text: string) => string): void => {
    const { config, sharedHash } = loadedFrom(change(readFileSync(file, 'utf8')), {}, 'edge-2')
    mate.app.front.self.fileState = () => {
      return { hash: config.hash, sharedHash, loadedAtMs: 1, mistakes: undefined }
    }
  }
  const fleet = async () => json(await ask('GET', '/admin/gateways')) as FleetView
  const isMetric = async (count: number) =>
    (await operate('GET', '/metrics')).text.includes(`\ntollgate_configs_in_force ${count}\n`)
  const live = async () => json(await ask('GET', '/admin/live')) as Snapshot

  goBy(alike)
  await until(async () => (await fleet()).gateways.every(({ config }) => config !== null))
  const one = await fleet()
  const hashes = one.gateways.map(({ config }) => config?.hash)
  t.not(hashes[0], hashes[1], 'each tells the hash of its own file')
  t.match(one, {
    summary: /^All 2 gateways run \w{4}… \(files differ in name, listen, admin or layout\)\.$/,
    differSinceAt: null,
    inForce: [{ hash: hashes[0], gateways: ['edge-1', 'edge-2'] }],
  })
  t.equal(one.inForce.length, 1)
  t.ok(await isMetric(1))
  t.strictSame((await live()).configs, [
    { hash: hashes[0], gateways: ['edge-1', 'edge-2'], refusals: [] },
  ])

  goBy(other)
  await until(async () => (await fleet()).differSinceAt !== null)
  t.match(await fleet(), {
    summary: /^2 gateways run different configurations since /,
    inForce: [{}, {}],
  })
  t.equal((await live()).configs.length, 2)
  await until(() => isMetric(2))

  const swap = `targets: [ "${old.url}" ], swap: { to: ["${next.url}"], steps: [50], every: 1h }`
  write((text) => text.replace(`targets: [ "${old.url}" ]`, swap))
  await ask('POST', '/admin/config/reload')
  await pause(1_000)
  t.match(await swapSeen(ask), { state: 'waiting' }, 'a swap waits until they agree')
  goBy(alike)
  await until(async () => (await swapSeen(ask)).state === 'moving')
  t.match(await fleet(), { differSinceAt: null })
})
