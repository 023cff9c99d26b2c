import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { QuietConnections } from '../../shared/node/quiet.ts'
import { neighbourhoodOf, plainAddress, type Ranges } from './address.ts'
import { FairShare } from '../forwarding/fair-share.ts'

/** Descriptors that are for files, stores and operators. */
const kept = 64

/** How often it is told that connections are not taken. */
const tellEveryMs = 1_000

export type RoomOptions = Readonly<{
  /** How many files and connections the system lets this process have open. */
  descriptors: number
  quiet: QuietConnections
  /** Proxies in front, which bring many callers and share no room. */
  trusted: () => Ranges
  /** Told now and then how many connections were not taken since. */
  refused: (count: number) => void
}>

/**
 * Keeps connections within what the system lets a process have open: half of that, because each may need another
 * one to a backend. Once half of this room is taken, no address gets more than its share. For one connection too
 * many, the one that is quiet for longest has to go, of strangers first; if all are busy, the new one.
 */
export function keepRoom(
  server: Server,
  { descriptors, quiet, trusted, refused }: RoomOptions,
): void {
  const room = Math.max(leastRoom, Math.floor((descriptors - kept) / 2))
  const share = new FairShare(room)
  let open = 0
  let untold = 0
  let toldAtMs = -Infinity

  const refuse = (socket: Socket): void => {
    socket.destroy()
    untold++
    if (performance.now() - toldAtMs < tellEveryMs) return
    toldAtMs = performance.now()
    refused(untold)
    untold = 0
  }
  const endOne = (isMeant: (socket: Socket) => boolean): boolean => {
    const idlest = quiet.idlest(isMeant)
    idlest?.destroy()
    return idlest !== undefined
  }

  server.on('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '')
    const place = neighbourhoodOf(address)
    const isFree = trusted().has(address)
    const isOther = (other: Socket): boolean => other !== socket
    const isNeighbour = (other: Socket): boolean =>
      isOther(other) && neighbourhoodOf(plainAddress(other.remoteAddress ?? '')) === place
    if (!isFree && !share.enter(place)) {
      if (!endOne(isNeighbour)) return refuse(socket)
      share.add(place)
    }
    open++
    socket.once('close', () => {
      open--
      if (!isFree) share.leave(place)
    })
    if (open > room && !endOne(isOther)) refuse(socket)
  })
}

/** Even where next to nothing is allowed, operators and a few callers are let in. */
const leastRoom = 16
