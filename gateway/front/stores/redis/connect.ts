import type { Redis } from 'ioredis'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { RedisAccess, RedisSettings } from '../../config/config.ts'
import { ioredis, isCluster, type Connection } from './library.ts'
import { longestGraceMs } from './answer-timeouts.ts'

export type { Connection }

export type ConnectOptions = Readonly<{
  /** The time limit of a script, for which a request waits. */
  timeoutMs: number
  /** Whether commands wait for the first connection; for command lines, not for gateways. */
  patient?: boolean
}>

const longestRetryMs = 1_000

/** The longest that a start waits for the first connection, unless a request may wait for longer. */
const longestStartMs = 2_000

/** Connects in the background, again and again. Errors appear at the commands. */
export function connect(settings: RedisSettings, options: ConnectOptions): Connection {
  const connection = create(settings, options)
  // Without a listener ioredis prints each failure; commands report them anyway.
  connection.on('error', () => undefined)
  connection.on(renewed, takeCredentials(connection))
  if (!options.patient) reconnectForever(connection)
  if (isCluster(connection)) {
    connection.on('+node', connectEarly)
    if (!options.patient) connection.on('-node', () => connection.refreshSlotsCache())
  }
  return connection
}

/**
 * Reconnects until `disconnect` is called. By itself ioredis gives a connection up for good if a Sentinel
 * announces a new master while ioredis asks for one.
 */
function reconnectForever(connection: Connection, over: () => unknown = () => undefined): void {
  const disconnect = connection.disconnect.bind(connection)
  let isOver = false
  connection.disconnect = (reconnect = false) => {
    isOver ||= !reconnect
    if (isOver) over()
    disconnect(reconnect)
  }
  const reconnect = (): void => {
    if (!isOver) connection.connect().catch(() => undefined)
  }
  connection.on('end', () => void setTimeout(reconnect, retryAfter(1, false) ?? 0).unref())
}

/**
 * Connects to a node of a Cluster as soon as it is known. Otherwise its first decision would begin the
 * connection, and all others would fail until it is made.
 */
function connectEarly(redis: Redis): void {
  redis.on('connect', () => corkPerTurn(redis.stream))
  if (redis.status === 'wait') redis.connect().catch(() => undefined)
}

/**
 * Sends all writes of one turn of the loop in one piece. At 64 connections this saves a third of a
 * decision's cost in Redis, which wakes up for each piece, and 10 to 20 % of the gateway's cost. Used for a
 * Cluster, where each decision is a call of its own; elsewhere the decisions of one turn are one call.
 */
function corkPerTurn(stream: Socket): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean
  let isCorked = false
  const corkedWrite = (...args: unknown[]): boolean => {
    if (!isCorked) {
      isCorked = true
      stream.cork()
      setImmediate(() => {
        isCorked = false
        stream.uncork()
      })
    }
    return write(...args)
  }
  stream.write = corkedWrite
}

/** Waits a short time for the connection; tells whether it is there. A gateway starts without it, too. */
export async function whenReady(connection: Connection, timeoutMs: number): Promise<boolean> {
  const endMs = performance.now() + Math.max(longestStartMs, timeoutMs)
  while (!isReady(connection) && performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return isReady(connection)
}

/** A Cluster's own status is `ready` as soon as it knows its nodes, so their status is checked as well. */
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
    // A last resort: on a busy loop it takes waiting answers for late, so `AnswerTimeouts` gives up earlier.
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
      // Skips a Sentinel that accepts connections and never answers.
      sentinelCommandTimeout: patienceMs,
      sentinelRetryStrategy: (attempt) => retryAfter(attempt, patient),
      failoverDetector: true,
    })
  }
  const { retryStrategy, enableOfflineQueue, ...own } = common
  return new Cluster(settings.cluster.map(hostAndPort), {
    redisOptions: { ...own, ...access },
    enableOfflineQueue,
    // A certificate is issued for a name, so the name must not be resolved to an address.
    ...(access.tls ? { dnsLookup: (name, done) => done(null, name) } : {}),
    slotsRefreshTimeout: 1_000,
    // No automatic repeats: they may count a request twice, or after nobody waits for the answer.
    ...(patient ? {} : { retryDelayOnFailover: 0, retryDelayOnClusterDown: 0 }),
    clusterRetryStrategy: retryStrategy,
  })
}

/** Username and password for the server, and TLS, which proves the server to us. */
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

/** The event by which connections beside one hear of other credentials. */
const renewed = 'renewed'

type Credentials = ReturnType<typeof credentialsIn>

/** Has a connection, and those beside it, go by the credentials of other settings when they connect again. */
export function renewAccess(connection: Connection, settings: RedisSettings): void {
  connection.emit(renewed, credentialsIn(settings))
}

/** Takes other credentials from then on. A node of a Cluster that comes later has those of its pool, which are the first ones. */
function takeCredentials(connection: Connection): (present: Credentials) => void {
  if (!isCluster(connection)) return (present) => Object.assign(connection.options, present)
  let latest: Credentials | undefined
  connection.on('+node', (node: Redis) => Object.assign(node.options, latest))
  return (present) => {
    latest = present
    // Those beside it that are made later go by these.
    Object.assign(connection.options.redisOptions ?? {}, present)
    for (const node of connection.nodes('all')) Object.assign(node.options, present)
  }
}

function credentialsIn(settings: RedisSettings) {
  if (!('url' in settings)) {
    const { username, password } = settings
    const sentinel = 'sentinels' in settings ? settings : undefined
    const { sentinelUsername, sentinelPassword } = sentinel ?? {}
    return { username, password, sentinelUsername, sentinelPassword }
  }
  const { Redis } = ioredis()
  const { username, password } = new Redis(settings.url, { lazyConnect: true }).options
  return { username, password }
}

/**
 * A second connection with the same options, for subscriptions: who listens subscribes each time it is `ready`. ioredis does
 * so as well for a single server, and leaves a failure to nobody, which would end the process.
 */
export function duplicate(connection: Connection): Connection {
  const second = isCluster(connection)
    ? connection.duplicate()
    : connection.duplicate({ autoResubscribe: false })
  second.on('error', () => undefined)
  const take = takeCredentials(second)
  connection.on(renewed, take)
  reconnectForever(second, () => connection.off(renewed, take))
  return second
}

/** Hears what is published. Whoever may use the store may write there: a message that can't be taken changes nothing. */
export function hear(subscriber: Connection, take: (text: string, channel: string) => void): void {
  subscriber.on('message', (channel: string, text: string) => {
    try {
      take(text, channel)
    } catch {
      // Its sender isn't known, and what it was meant to change comes by the next poll.
    }
  })
}

/** Runs something whenever a server is connected to, or a node of a Cluster. Returns what ends it. */
export function onEachReady(connection: Connection, run: () => void): () => void {
  const watch = (node: Redis): void => void node.on('ready', run)
  connection.on('ready', run)
  if (isCluster(connection)) {
    connection.nodes('all').forEach(watch)
    connection.on('+node', watch)
  }
  return () => {
    connection.off('ready', run)
    connection.off('+node', watch)
    if (isCluster(connection)) connection.nodes('all').forEach((node) => node.off('ready', run))
  }
}

/** The delay before an attempt: growing, and random, so that gateways don't come together. `null`: a command line gives up. */
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
