import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { makePrivate } from '../../../shared/sqlite.ts'

/** A file that is written beside its place, so that what stands there is always whole. */
export type NewFile = Readonly<{
  /** Where it is written. */
  path: string
  putInPlace(): void
  discard(): void
}>

/** What SQLite and a gateway put beside a file. */
const besides = ['-wal', '-shm', '-journal', '-counting']

/** Begins a file, for its owner alone; throws a sentence if there is one at its place, or remains of one. */
export function newFile(file: string): NewFile {
  const path = `${file}.part`
  if (existsSync(path)) {
    throw new Error(
      `${path} is there: a copy to ${file} is being made, or was broken off. If none is, remove it`,
    )
  }
  requireFree(file)
  makePrivate(path)
  const discard = (): void => {
    for (const beside of ['', ...besides]) rmSync(path + beside, { force: true })
  }
  return {
    path,
    putInPlace() {
      requireFree(file)
      renameSync(path, file)
      discard()
    },
    discard,
  }
}

/** Throws a sentence if something is at the place of a file that is to be new. */
export function requireFree(file: string): void {
  if (existsSync(file) && statSync(file).size > 0) {
    throw new Error(`${file} is there already, and stays as it is: name a file that isn't there`)
  }
  // SQLite would take it for a part of the new file.
  if (existsSync(`${file}-wal`)) {
    throw new Error(`${file}-wal is there, of a file that was moved without it: move it as well`)
  }
}
