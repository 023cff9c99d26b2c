import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Redis } from 'ioredis'
import { keyIdOf } from '../../gateway/front/keys/token.ts'
import { root } from '../support/process.ts'
import { somePort } from '../support/redis.ts'
import type { Tokens } from './callers.ts'
import type { Server } from './server.ts'

// Proxies that aren't programs of Node's, where config/scripts/bench.mjs has found them.

const templates = join(root, 'test', 'bench', 'others')

type Places = Readonly<Record<string, string | number>>

/** nginx as a plain proxy; with a certificate, its callers come by TLS 1.3. */
export async function nginx(
  upstream: string,
  folder: string,
  pair?: Readonly<{ cert: string; key: string }>,
): Promise<Server | undefined> {
  const command = process.env['BENCH_NGINX']
  const none = { tls: '', zone: '', limit: '' }
  if (!pair) return nginxWith('nginx', command, upstream, folder, none)
  const { cert, key } = pair
  const tls = ` ssl; ssl_protocols TLSv1.3; ssl_certificate "${cert}"; ssl_certificate_key "${key}"`
  const server = await nginxWith('nginx', command, upstream, folder, { ...none, tls })
  return server && { ...server, url: server.url?.replace('http:', 'https:') ?? '' }
}

/** nginx with its own limit of a minute for each key. */
export function nginxLimiting(
  upstream: string,
  folder: string,
  perMinute: number,
): Promise<Server | undefined> {
  const zone = `limit_req_zone $http_authorization zone=keys:1m rate=${perMinute}r/m; limit_req_status 429;`
  const limit = `limit_req zone=keys burst=${perMinute - 1} nodelay;`
  return nginxWith('nginx', process.env['BENCH_NGINX'], upstream, folder, { tls: '', zone, limit })
}

/** nginx with Lua, which counts in Redis. */
export function nginxLua(
  upstream: string,
  folder: string,
  redisPort: number,
): Promise<Server | undefined> {
  const program = process.env['BENCH_NGINX_LUA']
  const places = { redis: redisPort, root: join(dirname(program ?? ''), 'root') }
  return nginxWith('nginx-lua', program, upstream, folder, places)
}

/** haproxy with a stick table. */
export async function haproxy(upstream: string, folder: string): Promise<Server | undefined> {
  const command = process.env['BENCH_HAPROXY']
  if (!command) return undefined
  const port = await somePort()
  const file = filled('haproxy.cfg', folder, { port, upstream: new URL(upstream).host })
  return { command, args: ['-db', '-q', '-f', file], url: `http://127.0.0.1:${port}` }
}

/** caddy as a plain proxy. */
export async function caddy(upstream: string): Promise<Server | undefined> {
  const command = process.env['BENCH_CADDY']
  if (!command) return undefined
  const url = `http://127.0.0.1:${await somePort()}`
  const args = ['reverse-proxy', '--from', url, '--to', new URL(upstream).host]
  return { command, args, url }
}

/** Puts keys where `gateway.lua` looks for them; the plan is one with limits of a minute and a day. */
export async function addLuaKeys(redis: Redis, tokens: Tokens, perMinute = 1e9): Promise<void> {
  const pipeline = redis.pipeline()
  for (const token of tokens) {
    const hash = createHash('sha1').update(token).digest('base64')
    pipeline.hset(`key:${hash}`, { id: keyIdOf(token), plan: 'bench', perMinute, perDay: 1e9 })
  }
  await pipeline.exec()
}

export async function banLuaKey(redis: Redis, token: string): Promise<void> {
  await redis.set(`{${keyIdOf(token)}}:ban`, 1, 'EX', 3_600)
}

async function nginxWith(
  name: string,
  command: string | undefined,
  upstream: string,
  folder: string,
  places: Places = {},
): Promise<Server | undefined> {
  if (!command) return undefined
  const home = join(folder, name)
  mkdirSync(home)
  const port = await somePort()
  const of = { home, port, upstream: new URL(upstream).host, folder: templates, ...places }
  const args = ['-p', home, '-c', filled(`${name}.conf`, home, of), '-e', '/dev/null']
  return { command, args, url: `http://127.0.0.1:${port}` }
}

/** A configuration of `others/`, with places like @port@ filled in. */
function filled(name: string, folder: string, places: Places): string {
  const text = readFileSync(join(templates, name), 'utf8')
  const file = join(folder, name)
  writeFileSync(
    file,
    text.replace(/@(\w+)@/g, (whole, place: string) => String(places[place] ?? whole)),
  )
  return file
}
