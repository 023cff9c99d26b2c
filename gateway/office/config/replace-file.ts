import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { access, lstat, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { hashOf } from './file-text.ts'

/** A file that can't be read or written as it is. The sentence says why. */
export class FileFault extends Error {}

/** The age of a leftover of a save that was broken off; no save takes that long. */
const leftoverMs = 60_000

/** The text of a configuration file as it is now, and its hash. */
export async function writtenText(file: string): Promise<{ text: string; hash: string }> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new FileFault(`${file} can't be read: ${reasonOf(error)}`, { cause: error })
  })
  if (!isUtf8(bytes))
    throw new FileFault(`${file} isn't in UTF-8, so it can only be changed by hand`)
  const text = bytes.toString()
  return { text, hash: hashOf(text) }
}

/** Why a file can't be replaced by another one, as far as can be seen beforehand; `undefined` if it can. */
export async function replaceFault(file: string): Promise<string | undefined> {
  try {
    const state = await lstat(file)
    if (state.isSymbolicLink()) {
      return `${file} is a link, as Kubernetes makes one of a ConfigMap: change it where it comes from`
    }
    if (!state.isFile()) return `${file} isn't a file`
    if (state.nlink > 1)
      return `${file} has a second name (a hard link), which would keep the old text`
    // Root may write to it all the same, but somebody has protected it.
    if ((state.mode & 0o222) === 0) return `${file} is write-protected`
    await access(file, constants.W_OK)
    await access(dirname(file), constants.W_OK)
    return undefined
  } catch (error) {
    return `${file} can't be written: ${reasonOf(error)}`
  }
}

/**
 * Replaces a file as a whole: at every moment, also after a crash, its name leads to the old text or to the new one. Mode
 * and owner stay. Throws a `FileFault` if that can't be done; the old file is there then.
 */
export async function replaceFile(file: string, text: string): Promise<void> {
  const fault = await replaceFault(file)
  if (fault !== undefined) throw new FileFault(fault)
  const beside = `${prefixOf(file)}${randomBytes(6).toString('hex')}`
  try {
    await removeLeftovers(file)
    await writeLike(await stat(file), beside, text)
    await rename(beside, file)
  } catch (error) {
    await rm(beside, { force: true })
    throw new FileFault(`${file} can't be written: ${reasonOf(error)}`, { cause: error })
  }
  await syncFolder(dirname(file))
}

/** Writes a new file with the mode and owner of another one, down to the disk. */
async function writeLike({ mode, uid, gid }: Stats, file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    const own = await handle.stat()
    if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid)
    // After the owner: changing it takes some bits away.
    await handle.chmod(mode & 0o7777)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Removes what saves have left that a crash broke off: it may hold secrets. */
async function removeLeftovers(file: string): Promise<void> {
  const [folder, prefix] = [dirname(file), basename(prefixOf(file))]
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix) || !/^[0-9a-f]{12}$/.test(name.slice(prefix.length))) continue
    const leftover = join(folder, name)
    const { mtimeMs } = await lstat(leftover)
    if (Date.now() - mtimeMs > leftoverMs) await rm(leftover, { force: true })
  }
}

function prefixOf(file: string): string {
  return join(dirname(file), `.${basename(file)}.save-`)
}

/** Makes a rename last through a loss of power; where folders can't be synchronised, it lasts a little later. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r')
    await handle.sync().finally(() => handle.close())
  } catch {
    // The text is in force and on disk already.
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EFBIG: 'it is larger than this process may write',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'its disk is read-only',
  EACCES: 'this process may not write there',
  EPERM: 'this process may not keep its owner or mode',
  EBUSY: 'it is mounted by itself; mount its folder instead',
  ENOENT: 'it isn’t there',
}

function reasonOf(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  const reason = typeof code === 'string' ? reasons[code] : undefined
  return reason ?? (error instanceof Error ? error.message : String(error))
}
