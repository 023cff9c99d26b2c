import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { Test } from 'tap'

export type FaultProxy = Readonly<{
  port: number
  /** How many pieces have come from clients. */
  pieces: () => number
  /** How long each piece waits on its way, in either direction. */
  delay: (milliseconds: number) => void
  /** Whether pieces are held back for good, with all connections left as they are. */
  hang: (isHanging: boolean) => void
  /** Ends all connections. */
  cut: () => void
}>

/** A wire to a server that can be made bad. */
export async function startFaultProxy(t: Test, target: number): Promise<FaultProxy> {
  let delayMs = 0
  let isHanging = false
  let pieces = 0
  const held: (() => void)[] = []
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.once('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      // Pieces stay in their order, also those that come when the delay has just become shorter.
      const waiting: Buffer[] = []
      const pass = (): void => {
        if (isHanging) held.push(pass)
        else to.write(waiting.shift() ?? '')
      }
      from.on('data', (piece: Buffer) => {
        if (from === near) pieces++
        waiting.push(piece)
        if (delayMs > 0 || waiting.length > 1) setTimeout(pass, delayMs)
        else pass()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => sockets.forEach((socket) => socket.destroy())
  t.teardown(() => {
    server.close()
    cut()
  })
  return {
    port: (server.address() as AddressInfo).port,
    pieces: () => pieces,
    delay: (milliseconds) => {
      delayMs = milliseconds
    },
    hang: (hanging) => {
      isHanging = hanging
      if (!hanging) for (const pass of held.splice(0)) pass()
    },
    cut,
  }
}
