import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { librariesOf, NotHere, unpackDebian } from './debian.mjs'
import { root } from './shared.mjs'

/** Dependencies of their Debian packages that the base system lacks. */
const packages = {
  nginx: ['nginx', 'libpcre2-8-0'],
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
export function findReference(name) {
  const places = `${process.env.PATH ?? ''}${delimiter}/usr/sbin`.split(delimiter)
  const found = places.find((place) => existsSync(join(place, name)))
  if (found) return join(found, name)
  if (!packages[name]) return ''
  try {
    const target = unpackDebian(name, packages[name])
    const wrapper = join(root, '.cache', name, name)
    const path = librariesOf(target).join(':')
    const binary = join(target, 'usr/sbin', name)
    writeFileSync(wrapper, `#!/bin/sh\nLD_LIBRARY_PATH='${path}' exec '${binary}' "$@"\n`)
    chmodSync(wrapper, 0o755)
    return wrapper
  } catch (error) {
    if (error instanceof NotHere) return ''
    throw error
  }
}
