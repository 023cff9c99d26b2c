import { randomBytes } from 'node:crypto'
import { closeSync, lstatSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { root, SetupError } from './shared.mjs'

/**
 * The token with which operators sign in where nobody has set one: made once, and kept beside the gateway's database in
 * a file that only its owner can read.
 */
export function adminToken(database) {
  const file = join(dirname(database), 'admin-token')
  const path = resolve(root, file)
  mkdirSync(dirname(path), { recursive: true })
  const token = randomBytes(32).toString('hex')
  try {
    // Not through a link, and not over a file that is there.
    const descriptor = openSync(path, 'wx', 0o600)
    writeSync(descriptor, `${token}\n`)
    closeSync(descriptor)
    return { token, file, isNew: true }
  } catch (error) {
    if (error.code !== 'EEXIST') throw new SetupError(`${file} can't be made: ${error.message}`)
  }
  return { token: keptIn(file, path), file, isNew: false }
}

function keptIn(file, path) {
  const state = lstatSync(path)
  const again = `Delete it, and the next start makes another token.`
  if (!state.isFile()) throw new SetupError(`${file} isn't a file. ${again}`)
  const isOurs = process.getuid === undefined || state.uid === process.getuid()
  if (!isOurs || (process.platform !== 'win32' && state.mode & 0o077)) {
    throw new SetupError(`${file} holds the operators' token, and others can read it. ${again}`)
  }
  const token = readFileSync(path, 'utf8').trim()
  if (!/^[\w-]{16,}$/.test(token)) throw new SetupError(`${file} holds no token. ${again}`)
  return token
}
