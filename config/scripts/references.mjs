import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { librariesOf, NotHere, unpackDebian } from './debian.mjs'
import { findOnPath, root } from './shared.mjs'

/** A program's Debian package, and what it needs that the base system lacks. */
const packages = {
  nginx: ['nginx', 'libpcre2-8-0'],
  'nginx-lua': [
    ...['nginx', 'libpcre2-8-0', 'libpcre3', 'libluajit2-5.1-2', 'libnginx-mod-http-ndk'],
    ...['libnginx-mod-http-lua', 'lua-resty-core', 'lua-resty-lrucache', 'lua-nginx-redis'],
  ],
  haproxy: [
    'haproxy',
    'liblua5.3-0',
    'libopentracing-c-wrapper0',
    'libopentracing1',
    'libpcre2-8-0',
  ],
}

/**
 * A proxy to compare the gateway with: the one on the path, or Debian's, unpacked into this checkout;
 * empty where neither can be had.
 */
export async function findReference(name) {
  const found = findOnPath([name], '/usr/sbin')
  if (found || !packages[name]) return found
  try {
    const target = await unpackDebian(name, packages[name])
    const wrapper = join(root, '.cache', name, name)
    const path = librariesOf(target).join(':')
    const binary = join(target, 'usr/sbin', packages[name][0])
    writeFileSync(wrapper, `#!/bin/sh\nLD_LIBRARY_PATH='${path}' exec '${binary}' "$@"\n`)
    chmodSync(wrapper, 0o755)
    return wrapper
  } catch (error) {
    if (error instanceof NotHere) return ''
    throw error
  }
}
