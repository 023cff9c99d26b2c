import { chmodSync, existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { librariesOf, NotHere, unpackDebian } from './debian.mjs'
import { findOnPath, root, SetupError } from './shared.mjs'

const wrapper = join(root, '.cache', 'redis', 'redis-server')

/**
 * A redis-server to run tests with: the one that REDIS_SERVER_BIN names, or one on the path, or
 * Debian's, unpacked into this checkout.
 */
export async function findRedis() {
  const found = process.env.REDIS_SERVER_BIN || findOnPath(['redis-server', 'valkey-server'])
  if (found) return found
  if (!existsSync(wrapper)) await unpack()
  return wrapper
}

/** The library that gives a process another clock; empty where it can't be had. */
export async function findFaketime() {
  try {
    const [folder = ''] = librariesOf(await unpackDebian('faketime', ['libfaketime']))
    const library = join(folder, 'faketime', 'libfaketime.so.1')
    return existsSync(library) ? library : ''
  } catch (error) {
    if (error instanceof NotHere) return ''
    throw error
  }
}

async function unpack() {
  let target
  try {
    target = await unpackDebian('redis', ['redis-tools', 'libjemalloc2', 'liblzf1'])
  } catch (error) {
    if (!(error instanceof NotHere)) throw error
    throw new SetupError(
      `Tests need a redis-server, and none can be fetched here (${error.message}). ` +
        `Install redis, or set REDIS_SERVER_BIN to one.`,
    )
  }
  // One binary is server, checker and sentinel; it goes by the name that it is called by.
  const binary = join(target, 'redis-server')
  if (!existsSync(binary)) symlinkSync('usr/bin/redis-check-rdb', binary)
  const path = librariesOf(target).join(':')
  writeFileSync(wrapper, `#!/bin/sh\nLD_LIBRARY_PATH='${path}' exec '${binary}' "$@"\n`)
  chmodSync(wrapper, 0o755)
}
