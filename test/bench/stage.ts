import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { addKeys, banKey, get, newTokens, question, type Tokens } from './callers.ts'
import { somePort } from '../support/redis.ts'
import { gatewayAt, type BenchGateway, type Parts } from './gateways.ts'
import { addLuaKeys, banLuaKey, caddy, haproxy, nginx, nginxLua } from './others.ts'
import { withRedis, type BenchRedis } from './redis.ts'
import type { Server } from './server.ts'
import { startCollector, startUpstream } from './upstream.ts'

const keyCount = 10_000

/** A backend, a Redis, keys in all stores, and the servers to put between load and backend. */
export type Stage = Readonly<{
  upstream: string
  /** A collector of spans. */
  collector: string
  redis: BenchRedis
  tokens: Tokens
  /** Requests of all keys, of one whose minute is full, of one that is banned. */
  known: (n: number) => string
  full: (n: number) => string
  banned: (n: number) => string
  /** Questions for decisions about requests of all keys, and gateways that answer them. */
  question: (n: number) => string
  deciding: BenchGateway
  decidingInRedis: BenchGateway
  embedded: BenchGateway
  inRedis: BenchGateway
  gateway: (name: string, parts?: Parts) => BenchGateway
  /** Programs of `proxies.ts`, and those of `stacks`, which may not be there. */
  proxy: (kind: string) => Server
  stack: (kind: string) => Server | undefined
  nginx: Server | undefined
  nginxLua: Server | undefined
  haproxy: Server | undefined
  caddy: Server | undefined
}>

/** Lends a stage for as long as a measurement takes. */
export async function withStage(act: (stage: Stage) => Promise<void>): Promise<void> {
  const [upstream, collector] = await Promise.all([startUpstream(), startCollector()])
  try {
    await withRedis(async (redis) => act(await stageOf(upstream.url, collector.url, redis)))
  } finally {
    upstream.close()
    collector.close()
  }
}

async function stageOf(upstream: string, collector: string, redis: BenchRedis): Promise<Stage> {
  const { folder, url, port, client } = redis
  const tokens = newTokens(keyCount)
  const [full = '', banned = ''] = newTokens(2)
  const tokenFile = join(folder, 'tokens')
  writeFileSync(tokenFile, tokens.join('\n'))
  const gateway = (name: string, parts?: Parts) => gatewayAt(upstream, folder, name, parts)
  const embedded = gateway('embedded')
  await embedded.within((stores) => addKeys(stores, tokens))
  const inRedis = gateway('redis', { store: `redis: "${url}"` })
  await inRedis.within(async (stores) => {
    await addKeys(stores, [...tokens, banned])
    await addKeys(stores, [full], 'full')
    await banKey(stores, banned)
  })
  await addLuaKeys(client, [...tokens, banned])
  await addLuaKeys(client, [full], 1)
  await banLuaKey(client, banned)
  const stacks = process.env['BENCH_STACKS']
  return {
    ...{ upstream, collector, redis, tokens, embedded, inRedis, gateway },
    ...{ known: get(...tokens), full: get(full), banned: get(banned) },
    question: question(...tokens),
    deciding: embedded.copy('deciding', { decidePort: await somePort() }),
    decidingInRedis: gateway('deciding-redis', {
      store: `redis: "${url}"`,
      decidePort: await somePort(),
    }),
    proxy: (kind) => ({
      program: 'test/bench/proxies.ts',
      args: [kind, upstream, tokenFile, url],
    }),
    stack: (kind) =>
      stacks ? { program: join(stacks, 'stack.mjs'), args: [kind, upstream, url] } : undefined,
    nginx: await nginx(upstream, folder),
    nginxLua: await nginxLua(upstream, folder, port),
    haproxy: await haproxy(upstream, folder),
    caddy: await caddy(upstream),
  }
}
