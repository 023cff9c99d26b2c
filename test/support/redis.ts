import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import type { Test } from 'tap'
import { root } from './process.ts'
import { until } from './until.ts'

export type RedisServer = Readonly<{
  url: string
  port: number
  child: () => ChildProcess
  /** A connection of the test's own. */
  client: Redis
  /** Ends it at once, as a power cut would. */
  kill: () => Promise<void>
  /** Starts it again on the same port, with nothing remembered. */
  restart: () => Promise<void>
}>

/** A test or a measurement, whose end is the server's. */
export type Ends = Pick<Test, 'teardown'>

/** Stands for any port in the options of a program that takes no 0 for that, as Redis, or that needs to know it before. */
export const anyPort = 'any-port'

/** A real redis-server of the test's own, which remembers nothing. */
export async function startRedis(t: Ends, ...more: string[]): Promise<RedisServer> {
  const dir = mkdtempSync(join(tmpdir(), 'tollgate-redis-'))
  const own = ['--bind', '127.0.0.1', '--save', '', '--dir', dir]
  const {
    port,
    args,
    child: first,
  } = await atSomePort(async (port) => {
    const others = await Promise.all(
      more.map(async (word) => (word === anyPort ? String(await somePort()) : word)),
    )
    const args = ['--port', String(port), ...own, ...others]
    return { port, args, child: await launch(args) }
  })
  let child = first
  const password = passwordIn(more)
  const client = new Redis(port, { maxRetriesPerRequest: null, ...password })
  client.on('error', () => undefined)
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  t.teardown(async () => {
    client.disconnect()
    await kill()
    rmSync(dir, { recursive: true, force: true })
  })
  const restart = async (): Promise<void> => {
    child = await launch(args)
  }
  return { url: `redis://127.0.0.1:${port}`, port, child: () => child, client, kill, restart }
}

/**
 * All commands that a Redis gets from now on, each as its words. Not by ioredis' `monitor`, which throws when the first
 * command comes in one piece with the answer.
 */
export async function watchCommands(
  t: Ends,
  { port }: Pick<RedisServer, 'port'>,
): Promise<string[]> {
  const commands: string[] = []
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  t.teardown(() => socket.destroy())
  const lines = createInterface(socket)
  lines.on('line', (line) => {
    const words = line.matchAll(/"((?:[^"\\]|\\.)*)"/g)
    if (line !== '+OK') commands.push([...words].map(([, word]) => word).join(' '))
  })
  socket.write('MONITOR\r\n')
  await once(lines, 'line')
  return commands
}

/** The password that a server's options require. */
function passwordIn(options: readonly string[]): { password?: string } {
  const at = options.indexOf('--requirepass')
  const password = at < 0 ? undefined : options[at + 1]
  return password === undefined ? {} : { password }
}

/** Starts a redis-server and waits until it answers. */
export async function launch(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(serverBinary(), args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ready = new Promise<void>((resolve, reject) => {
    let output = ''
    child.stdout.on('data', (text: Buffer) => {
      output += text.toString()
      if (output.includes('Ready to accept connections') || output.includes('+monitor')) resolve()
    })
    child.once('exit', () => reject(new Error(`redis-server ended: ${output}`)))
    // The runner of the tests knows this sentence.
    child.once('error', () => reject(new Error('There is no redis-server.')))
  })
  await ready
  return child
}

/** Where `npm test` has found or put one. */
function serverBinary(): string {
  const unpacked = join(root, '.cache/redis/redis-server')
  const { REDIS_SERVER_BIN } = process.env
  if (REDIS_SERVER_BIN) return REDIS_SERVER_BIN
  return existsSync(unpacked) ? unpacked : 'redis-server'
}

/**
 * Starts a program that has to be told its port, at another one if that is taken: `start` then throws what the program
 * says of it.
 */
export async function atSomePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await start(await somePort())
    } catch (error) {
      const isTaken = /in use|EADDRINUSE|cannot bind|Failed listening/i.test(String(error))
      if (!isTaken || tries === 10) throw error
    }
  }
}

/**
 * A free port below those that the system gives to outgoing connections: one of these may be taken while its server restarts,
 * and a client that asks for it meanwhile may be connected with itself.
 */
export async function somePort(): Promise<number> {
  for (;;) {
    const port = 11_000 + Math.floor(Math.random() * 21_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    server.close()
    if (isFree) return port
  }
}

export type RedisCluster = Readonly<{ nodes: string[]; clients: Redis[] }>

/** A Cluster of three masters, each with a third of the slots. */
export async function startCluster(t: Ends, ...more: string[]): Promise<RedisCluster> {
  const servers: RedisServer[] = []
  for (let i = 0; i < 3; i++) {
    servers.push(
      await startRedis(
        t,
        ...['--cluster-enabled', 'yes', '--cluster-port', anyPort],
        // On a busy machine a node may be silent for seconds, and isn't down then.
        ...['--cluster-node-timeout', '10000', '--cluster-require-full-coverage', 'no'],
        ...withPorts(more),
      ),
    )
  }
  const bounds = [0, 5_461, 10_923, 16_384]
  for (const [i, { client }] of servers.entries()) {
    const [from = 0, to = 0] = bounds.slice(i, i + 2)
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to - 1)
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
  }
  const [first, ...others] = servers
  for (const { port, client } of others) {
    const bus = await client.config('GET', 'cluster-port')
    await first?.client.call('CLUSTER', 'MEET', '127.0.0.1', port, String(valueOf(bus)))
  }
  for (const { client } of servers) {
    await until(async () => {
      const info = String(await client.call('CLUSTER', 'INFO'))
      // Without full coverage the state is ok before a node knows where all slots are.
      const wanted = ['cluster_state:ok', 'cluster_slots_ok:16384', 'cluster_known_nodes:3']
      return wanted.every((line) => info.includes(line))
    })
  }
  return {
    nodes: servers.map(({ port }) => `127.0.0.1:${port}`),
    clients: servers.map(({ client }) => client),
  }
}

/** The same options with a port of its own for each server's TLS, if they have TLS. */
function withPorts(options: readonly string[]): string[] {
  const isEncrypted = options.includes('--tls-cert-file')
  return [...options, ...(isEncrypted ? ['--tls-port', anyPort] : [])]
}

/** A server's port for TLS; 0 if it has none. */
export async function tlsPortOf(client: Redis): Promise<number> {
  return Number(valueOf(await client.config('GET', 'tls-port')))
}

export type RedisSentinel = Readonly<{
  sentinel: string
  /** Its port for TLS, if `sentinelMore` names `anyPort` as that. */
  tlsPort: number
  name: string
  servers: RedisServer[]
}>

/** A master, a replica, and a Sentinel that watches them; `sentinelMore` is more of the Sentinel's own file. */
export async function startSentinel(
  t: Test,
  { more = [], sentinelMore = '' }: { more?: readonly string[]; sentinelMore?: string } = {},
): Promise<RedisSentinel> {
  const options = withPorts(more)
  const master = await startRedis(t, '--repl-diskless-sync-delay', '0', ...options)
  const masterPort = (await tlsPortOf(master.client)) || master.port
  const follows = ['--replicaof', '127.0.0.1', String(masterPort)]
  const replica = await startRedis(t, ...follows, ...withPorts(more))
  // A sentinel asks its master for replicas when it starts, and then every ten seconds.
  const isJoined = async () => (await master.client.info('replication')).includes('state=online')
  await until(isJoined, 30_000)
  const dir = mkdtempSync(join(tmpdir(), 'tollgate-sentinel-'))
  const file = join(dir, 'sentinel.conf')
  const { port, tlsPort, child } = await atSomePort(async (port) => {
    const tlsPort = await somePort()
    writeFileSync(
      file,
      `port ${port}\nbind 127.0.0.1\ndir ${dir}\nsentinel monitor gw 127.0.0.1 ${masterPort} 1\n` +
        `sentinel down-after-milliseconds gw 500\nsentinel failover-timeout gw 2000\n` +
        sentinelMore.replace(anyPort, String(tlsPort)),
    )
    return { port, tlsPort, child: await launch([file, '--sentinel']) }
  })
  const [, password] = /^requirepass (\S+)$/m.exec(sentinelMore) ?? []
  const client = new Redis(port, password === undefined ? {} : { password })
  t.teardown(async () => {
    client.disconnect()
    child.kill('SIGKILL')
    await once(child, 'exit')
    rmSync(dir, { recursive: true, force: true })
  })
  await until(async () => {
    const replicas = await client.call('SENTINEL', 'REPLICAS', 'gw')
    return Array.isArray(replicas) && replicas.length === 1
  }, 30_000)
  return { sentinel: `127.0.0.1:${port}`, tlsPort, name: 'gw', servers: [master, replica] }
}

function valueOf(config: unknown): unknown {
  return Array.isArray(config) ? config[1] : Object.values(config as object)[0]
}
