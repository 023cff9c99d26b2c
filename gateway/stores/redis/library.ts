import type * as Library from 'ioredis'
import type { Cluster, Redis } from 'ioredis'
import { createRequire } from 'node:module'

/** A connection to one Redis, to the master that Sentinels name, or to a Cluster. */
export type Connection = Redis | Cluster

const require = createRequire(import.meta.url)

/** Loads ioredis when something connects: commands on a file do without, which spares them a fifth of a second. */
export function ioredis(): typeof Library {
  return require('ioredis') as typeof Library
}

export function isCluster(connection: Connection): connection is Cluster {
  return connection.isCluster
}
