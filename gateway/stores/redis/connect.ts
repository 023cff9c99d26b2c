import type { Redis } from 'ioredis'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { RedisAccess, RedisSettings } from '../../config/config.ts'
import { ioredis, isCluster, type Connection } from './library.ts'
import { longestGraceMs } from './patience.ts'

export type { Connection }

export type ConnectOptions = Readonly<{
  /** How long a script may take: what a request may wait for. */
  timeoutMs: number
  /** Whether commands wait for a connection that is still being made: for a command line, not a gateway. */
  patient?: boolean
}>

const longestRetryMs = 1_000

/** How long a start waits for a first connection. */
const longestStartMs = 2_000

/** Connects in the background and goes on trying; errors come from the commands that meet them. */
export function connect(settings: RedisSettings, options: ConnectOptions): Connection {
  const connection = create(settings, options)
  // Without a listener, ioredis would print each failure; whoever uses the connection sees them.
  connection.on('error', () => undefined)
  if (!options.patient) persevere(connection)
  if (isCluster(connection)) {
    connection.on('+node', reach)
    if (!options.patient) connection.on('-node', () => connection.refreshSlotsCache())
  }
  return connection
}

/**
 * Sets a connection going again that nobody has ended: ioredis gives one up for good if a Sentinel tells of
 * a new master just while it is being asked for one.
 */
function persevere(connection: Connection): void {
  const disconnect = connection.disconnect.bind(connection)
  let isOver = false
  connection.disconnect = (reconnect = false) => {
    isOver ||= !reconnect
    disconnect(reconnect)
  }
  const again = (): void => {
    if (!isOver) connection.connect().catch(() => undefined)
  }
  connection.on('end', () => void setTimeout(again, retryAfter(1, false) ?? 0).unref())
}

/**
 * Connects to a node of a Cluster as soon as it is known. Else the first decision that is asked of it
 * would have it connect, and all others until then would fail.
 */
function reach(redis: Redis): void {
  redis.on('connect', () => gather(redis.stream))
  if (redis.status === 'wait') redis.connect().catch(() => undefined)
}

/**
 * Sends all that is written in one turn of the loop in one piece: at 64 connections that takes a third off
 * what a decision costs Redis, which wakes up for each piece, and a tenth to a fifth off the gateway's part.
 * For a Cluster, where each decision is a call of its own; elsewhere those of one turn are one call.
 */
function gather(stream: Socket): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean
  let isGathering = false
  const gathering = (...args: unknown[]): boolean => {
    if (!isGathering) {
      isGathering = true
      stream.cork()
      setImmediate(() => {
        isGathering = false
        stream.uncork()
      })
    }
    return write(...args)
  }
  stream.write = gathering
}

/** Waits until a connection is made, but not for long: without it a gateway starts as well. */
export async function whenReady(connection: Connection): Promise<void> {
  const endMs = performance.now() + longestStartMs
  while (!isReady(connection) && performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** A Cluster says that it is when it knows its nodes. */
function isReady(connection: Connection): boolean {
  if (connection.status !== 'ready') return false
  return !isCluster(connection) || connection.nodes('master').every(isReady)
}

function create(
  settings: RedisSettings,
  { timeoutMs, patient = false }: ConnectOptions,
): Connection {
  const patienceMs = Math.max(1_000, timeoutMs)
  const common = {
    // It takes answers that lie ready on a busy loop for late: what is decided by it is given up before.
    commandTimeout: patient ? patienceMs : timeoutMs + longestGraceMs + 1_000,
    connectTimeout: Math.max(500, timeoutMs),
    socketTimeout: Math.max(2_000, timeoutMs * 2),
    enableOfflineQueue: patient,
    maxRetriesPerRequest: patient ? 3 : 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt: number) => retryAfter(attempt, patient),
  }
  const { Cluster, Redis } = ioredis()
  if ('url' in settings) return new Redis(settings.url, common)
  const access = accessFrom(settings)
  if ('sentinels' in settings) {
    const { sentinelUsername, sentinelPassword } = settings
    return new Redis({
      ...common,
      ...access,
      ...(sentinelUsername ? { sentinelUsername } : {}),
      ...(sentinelPassword ? { sentinelPassword } : {}),
      ...(access.tls ? { sentinelTLS: access.tls, enableTLSForSentinelMode: true } : {}),
      sentinels: settings.sentinels.map(hostAndPort),
      name: settings.name,
      // One that takes connections and says nothing is passed over.
      sentinelCommandTimeout: patienceMs,
      sentinelRetryStrategy: (attempt) => retryAfter(attempt, patient),
      failoverDetector: true,
    })
  }
  const { retryStrategy, enableOfflineQueue, ...own } = common
  return new Cluster(settings.cluster.map(hostAndPort), {
    redisOptions: { ...own, ...access },
    enableOfflineQueue,
    // A certificate is for a name, which must not be given up for its address.
    ...(access.tls ? { dnsLookup: (name, done) => done(null, name) } : {}),
    slotsRefreshTimeout: 1_000,
    // What is sent again by itself may be counted twice, and when nobody waits for it any more.
    ...(patient ? {} : { retryDelayOnFailover: 0, retryDelayOnClusterDown: 0 }),
    clusterRetryStrategy: retryStrategy,
  })
}

/** What proves to a server who asks, and what proves to us that it is the one that was meant. */
function accessFrom({ username, password, tls }: RedisAccess): {
  username?: string
  password?: string
  tls?: ConnectionOptions
} {
  const ca = typeof tls === 'object' ? { ca: readFileSync(tls.ca) } : {}
  return {
    ...(username ? { username } : {}),
    ...(password ? { password } : {}),
    ...(tls ? { tls: ca } : {}),
  }
}

/** A second connection of the same kind, for hearing messages. */
export function duplicate(connection: Connection): Connection {
  const second = isCluster(connection) ? connection.duplicate() : connection.duplicate()
  second.on('error', () => undefined)
  persevere(second)
  return second
}

/** Sooner at first, later then, and never all gateways at once; a command line gives up. */
function retryAfter(attempt: number, patient: boolean): number | null {
  if (patient && attempt > 5) return null
  return Math.round(
    Math.min(longestRetryMs, 50 * 2 ** Math.min(attempt, 6)) * (0.5 + Math.random() / 2),
  )
}

function hostAndPort(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(':')
  return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) }
}
