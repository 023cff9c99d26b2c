import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, resolve } from 'node:path'

/** Asks the system about files; tests bring another one. */
export type Access = Readonly<{
  exists: (file: string) => boolean
  /** Throws if this process may not do with a file what the mode says. */
  require: (file: string, mode: number) => void
  /** The user of this process; not every system has one. */
  uid: number | undefined
}>

const system = (): Access => ({ exists: existsSync, require: accessSync, uid: ownUid() })

/** SQLite keeps these beside a database, and needs them as much. */
const besides = ['', '-wal', '-shm', '-journal', '-counting']

/** Why this process may not use a file, and what to do, if that is why it can't be opened. */
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
  const kept = besides
    .map((end) => file + end)
    .find((path) => exists(path) && !may(path, R_OK | W_OK))
  if (kept === undefined) return undefined
  return `${user} may not read and write ${kept}: chown ${owner} ${kept}; or chmod u+rw ${kept}, if it is this user's; or run it as the file's owner`
}

/** In a container a user may have no name, and then only Linux itself knows who it is. */
function ownUid(): number | undefined {
  for (const ask of [() => userInfo().uid, () => statSync('/proc/self').uid]) {
    try {
      const uid = ask()
      return uid < 0 ? undefined : uid
    } catch {
      // The next one may know.
    }
  }
  return undefined
}
