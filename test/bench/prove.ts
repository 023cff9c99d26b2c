import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { prove } from '../../gateway/office/prove/prove.ts'
import { rowNames, type Row } from '../../gateway/office/prove/rows.ts'
import { startBalancer } from '../support/balancer.ts'
import type { Ends } from '../support/redis.ts'
import { addKeys, newTokens } from './callers.ts'
import { gatewayAt } from './gateways.ts'
import type { Say, Settings } from './measure.ts'
import { addLuaKeys, nginxLimiting, nginxLua } from './others.ts'
import { lend, withRedis, type BenchRedis } from './redis.ts'
import { started, type Server } from './server.ts'
import { tableOf, type Column } from './tables.ts'
import { startUpstream } from './upstream.ts'

const perMinute = 60

type Proven = Readonly<{ name: string; rows: readonly Row[] }>

/** Measures how exactly each keeps a limit by the minute, as `tollgate prove` does, all at once. */
export async function benchProve(
  { connections }: Settings,
  say: Say,
  progress: Say,
): Promise<readonly Proven[]> {
  const upstream = await startUpstream()
  let all: readonly Proven[] = []
  const proven = async (t: Ends, redis: BenchRedis): Promise<void> => {
    const [token = ''] = newTokens(1)
    const contestants = await contestantsOf(upstream.url, redis, token)
    const measured = contestants.map(async ([name, servers]): Promise<Proven[]> => {
      if (servers.length === 0) return []
      const url = await urlOf(t, servers)
      const budget = { forMs: 720_000, mostRequests: 10_000, passes: 3 }
      const about = { limit: perMinute, windowMs: 60_000, connections, ...budget }
      const headers = { authorization: `Bearer ${token}` }
      const rows = await prove({ url: `${url}/v1/pets`, headers, ...about })
      progress(`proven: ${name}`)
      return [{ name, rows }]
    })
    all = (await Promise.all(measured)).flat()
  }
  try {
    await withRedis((redis) => lend((t) => proven(t, redis)))
  } finally {
    upstream.close()
  }
  say(`\n${tableOf(all, columns)}`)
  return all
}

const columns: Column<Proven>[] = [
  ['60 a minute', ({ name }) => name],
  ...rowNames.map((name): Column<Proven> => [name, ({ rows }) => cellOf(rows, name)]),
]

function cellOf(rows: readonly Row[], name: string): string {
  const row = rows.find((each) => each.row === name)
  if (row?.verdict === 'not tried') return '–'
  return row?.verdict === 'exact' ? 'exact' : `no: ${row?.what}`
}

/** One of the servers, or a balancer before them. */
async function urlOf(t: Ends, servers: readonly Server[]): Promise<string> {
  const all = await Promise.all(servers.map(started))
  t.teardown(() => Promise.all(all.map(({ end }) => end())))
  const [{ url = '' } = {}, ...others] = all
  if (others.length === 0) return url
  return (
    await startBalancer(
      t,
      all.map((each) => each.url),
    )
  ).url
}

/** All of those that are here, with a key that each knows. */
async function contestantsOf(
  upstream: string,
  { folder, url, port, client }: BenchRedis,
  token: string,
): Promise<readonly (readonly [name: string, servers: readonly Server[]])[]> {
  const tokenFile = join(folder, 'tokens')
  writeFileSync(tokenFile, token)
  await addLuaKeys(client, [token], perMinute)
  const ours = async (name: string, store?: string): Promise<Server> => {
    const gateway = gatewayAt(upstream, folder, name, store === undefined ? {} : { store })
    await gateway.within((stores) => addKeys(stores, [token], 'sixty'))
    return gateway.server
  }
  const [alone, fleet] = [`redis: "${url}", prefix: "alone"`, `redis: "${url}"`]
  const stacks = process.env['BENCH_STACKS']
  const stack = (kind: string): Server[] =>
    stacks
      ? [{ program: join(stacks, 'stack.mjs'), args: [kind, upstream, url, `${perMinute}`] }]
      : []
  const flexible = {
    program: 'test/bench/proxies.ts',
    args: ['redis', upstream, tokenFile, url, `${perMinute}`],
  }
  const inFleet = await ours('fleet', fleet)
  return [
    ['Tollgate, embedded', [await ours('embedded')]],
    ['Tollgate, Redis', [await ours('redis', alone)]],
    ['Tollgate, four gateways on one Redis', [inFleet, inFleet, inFleet, inFleet]],
    ['@fastify/rate-limit, Redis', stack('rate-limit')],
    ['2 RateLimiterRedis (rate-limiter-flexible)', [flexible]],
    ['express-rate-limit, Redis', stack('express')],
    [
      'nginx, `limit_req` (60r/m, burst 59)',
      present(await nginxLimiting(upstream, folder, perMinute)),
    ],
    ['nginx + Lua + Redis', present(await nginxLua(upstream, folder, port))],
  ]
}

function present(server: Server | undefined): Server[] {
  return server ? [server] : []
}
