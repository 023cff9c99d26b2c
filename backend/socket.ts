import { lstatSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { isSocketUrl, socketForm, socketPathOf } from '../shared/unix-socket.ts'

/** The path in LISTEN; `undefined` if it isn't set. */
export function socketFrom(listen: string): string | undefined {
  if (listen === '') return undefined
  if (isSocketUrl(listen)) return socketPathOf(listen)
  throw new Error(`LISTEN must be ${socketForm}, got "${listen}"`)
}

/** Removes the socket that a process has left behind at a path. Throws a sentence if another file is in the way. */
export async function clearWay(path: string): Promise<void> {
  const file = lstatSync(path, { throwIfNoEntry: false })
  if (!file) return
  if (!file.isSocket()) {
    throw new Error(`LISTEN: ${path} is there, and isn't a socket. Name another path.`)
  }
  if (await isInUse(path)) {
    throw new Error(
      `LISTEN: ${path} is in use. Does the animal store run already? Stop the other one, or name another path.`,
    )
  }
  rmSync(path, { force: true })
}

/** Whether a process listens at a socket. */
function isInUse(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      // A process that has gone, or has just cleaned up; EAGAIN is one with too many to take.
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false)
      else if (error.code === 'EAGAIN') resolve(true)
      else reject(error)
    })
  })
}
