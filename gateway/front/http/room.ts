import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { QuietConnections } from '../../../shared/node/quiet.ts'
import { neighbourhoodOf, plainAddress, type Ranges } from './address.ts'
import { FairShare } from './fair-share.ts'

/** Descriptors that are reserved for files, stores and operators. */
const reserved = 64

/** The least time between two reports of refused connections. */
const reportEveryMs = 1_000

export type RoomOptions = Readonly<{
  /** The system's limit of open files and connections. */
  descriptors: number
  quiet: QuietConnections
  /** Proxies in front, which bring many callers and so have no share. */
  trusted: () => Ranges
  /** Called from time to time with the number of connections refused since. */
  refused: (count: number) => void
}>

/**
 * Limits callers' connections to half of the process's descriptors, because each may need another one to a backend.
 * Once half of this room is taken, no address gets more than its share. A connection too many closes the longest
 * idle one, strangers' first; if all are busy, it is closed itself.
 */
export function keepRoom(
  server: Server,
  { descriptors, quiet, trusted, refused }: RoomOptions,
): void {
  const room = Math.max(leastRoom, Math.floor((descriptors - reserved) / 2))
  const share = new FairShare(room)
  let open = 0
  let unreported = 0
  let reportedAtMs = -Infinity

  const refuse = (socket: Socket): void => {
    socket.destroy()
    unreported++
    if (performance.now() - reportedAtMs < reportEveryMs) return
    reportedAtMs = performance.now()
    refused(unreported)
    unreported = 0
  }
  const endOne = (isMeant: (socket: Socket) => boolean): boolean => {
    const idlest = quiet.idlest(isMeant)
    idlest?.destroy()
    return idlest !== undefined
  }

  server.on('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '')
    const sender = neighbourhoodOf(address)
    const isFree = trusted().has(address)
    const isOther = (other: Socket): boolean => other !== socket
    const isNeighbour = (other: Socket): boolean =>
      isOther(other) && neighbourhoodOf(plainAddress(other.remoteAddress ?? '')) === sender
    if (!isFree && !share.enter(sender)) {
      if (!endOne(isNeighbour)) return refuse(socket)
      share.add(sender)
    }
    open++
    socket.once('close', () => {
      open--
      if (!isFree) share.leave(sender)
    })
    if (open > room && !endOne(isOther)) refuse(socket)
  })
}

/** The least room, so that operators and a few callers can connect in any case. */
const leastRoom = 16
