import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, resolve } from 'node:path'

/** Asks the system about files; tests pass another one. */
export type Access = Readonly<{
  exists: (file: string) => boolean
  /** Throws if this process may not access a file in a mode. */
  require: (file: string, mode: number) => void
  /** The user of this process; not every system has one. */
  uid: number | undefined
}>

const system = (): Access => ({ exists: existsSync, require: accessSync, uid: ownUid() })

/** The endings of the database and of the files beside it, which SQLite needs as well. */
const endings = ['', '-wal', '-shm', '-journal', '-counting']

/** Why this process may not use a file, and what to do; `undefined` if permissions aren't the reason. */
export function permissionFault(
  file: string,
  { exists, require, uid }: Access = system(),
): string | undefined {
  const user = uid === undefined ? 'this user' : `this process's user (uid ${uid})`
  const owner = uid === undefined ? 'that user' : uid
  const may = (path: string, mode: number): boolean => {
    try {
      require(path, mode)
      return true
    } catch {
      return false
    }
  }
  let folder = dirname(resolve(file))
  while (!exists(folder) && folder !== dirname(folder)) folder = dirname(folder)
  const { R_OK, W_OK, X_OK } = constants
  if (!may(folder, W_OK | X_OK)) {
    return `${user} may not write into the folder ${folder}: chown ${owner} ${folder}, or run it as the folder's owner`
  }
  const blocked = endings
    .map((ending) => file + ending)
    .find((path) => exists(path) && !may(path, R_OK | W_OK))
  if (blocked === undefined) return undefined
  return `${user} may not read and write ${blocked}: chown ${owner} ${blocked}; or chmod u+rw ${blocked}, if it is this user's; or run it as the file's owner`
}

/** In a container a user may have no name; then only `/proc` has the id. */
function ownUid(): number | undefined {
  for (const ask of [() => userInfo().uid, () => statSync('/proc/self').uid]) {
    try {
      const uid = ask()
      return uid < 0 ? undefined : uid
    } catch {
      // Try the next one.
    }
  }
  return undefined
}
