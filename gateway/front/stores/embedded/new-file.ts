import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { makePrivate } from '../../../../shared/sqlite.ts'

/** The endings of the files that SQLite and a gateway put beside a database. */
const companions = ['-wal', '-shm', '-journal', '-counting']

/**
 * Begins a file that only its owner can read. It is written under another name and then renamed, so that it is always complete.
 * Throws a sentence if the file exists, or an unfinished one.
 */
export function newFile(file: string) {
  const path = `${file}.part`
  if (existsSync(path)) {
    throw new Error(
      `${path} exists: a copy to ${file} is running or was interrupted. If none is running, remove it`,
    )
  }
  requireFree(file)
  makePrivate(path)
  const discard = (): void => {
    for (const ending of ['', ...companions]) rmSync(path + ending, { force: true })
  }
  return {
    /** The file while it is written. */
    path,
    putInPlace(): void {
      requireFree(file)
      renameSync(path, file)
      discard()
    },
    discard,
  }
}

/** Throws a sentence if a file that is to be new exists. */
export function requireFree(file: string): void {
  if (existsSync(file) && statSync(file).size > 0) {
    throw new Error(`${file} exists already, and stays as it is: name a file that doesn't exist`)
  }
  // SQLite would read it as a part of the new file.
  if (existsSync(`${file}-wal`)) {
    throw new Error(`${file}-wal is left of a file that was moved without it: move it as well`)
  }
}
