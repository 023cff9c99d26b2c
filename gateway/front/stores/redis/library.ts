import type * as Library from 'ioredis'
import type { Cluster, Redis } from 'ioredis'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'

/** A connection to one Redis, to the master that Sentinels name, or to a Cluster. */
export type Connection = Redis | Cluster

const require = createRequire(import.meta.url)

/** Loads ioredis when something connects: commands on a file do without, which spares them a fifth of a second. */
export function ioredis(): typeof Library {
  const library = require('ioredis') as typeof Library
  adapt(library)
  return library
}

let isAdapted = false

function adapt(library: typeof Library): void {
  if (isAdapted) return
  isAdapted = true
  survivePartings(library)
  doWithoutInfo(library)
}

/** Takes a server without INFO for ready. ioredis does so only where an ACL refuses it. */
function doWithoutInfo({ Redis }: typeof Library): void {
  const checks = Redis.prototype as unknown as Checking
  const { _readyCheck } = checks
  checks._readyCheck = function (callback) {
    _readyCheck.call(this, (error, info) => {
      const isUnknown = error !== null && /unknown command/i.test(error.message)
      callback(isUnknown ? null : error, isUnknown ? {} : info)
    })
  }
}

type Checking = { _readyCheck: (this: Checking, callback: Checked) => void }
type Checked = (error: Error | null, info?: object) => void

/**
 * Lets a connection fail that was given up before. ioredis hears one error of a socket; a TLS handshake that is
 * broken off gives two, ours and then the server's, and the second one would end the process.
 */
function survivePartings({ AbstractConnector }: typeof Library): void {
  const ends = AbstractConnector.prototype as unknown as Parting
  const { disconnect } = ends
  ends.disconnect = function () {
    this.stream?.on('error', () => undefined)
    // ioredis would wait two seconds for the end of one that has ended, and so would a command.
    if (this.stream?.destroyed) this.stream = null
    disconnect.call(this)
  }
}

type Parting = { stream?: Socket | null; disconnect: (this: Parting) => void }

export function isCluster(connection: Connection): connection is Cluster {
  return connection.isCluster
}
