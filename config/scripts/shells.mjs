import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { librariesOf, NotHere, unpackDebian } from './debian.mjs'
import { findOnPath, root } from './shared.mjs'

/** A shell's Debian packages, and its program in them. */
const packages = {
  zsh: [['zsh', 'zsh-common'], 'bin/zsh'],
  fish: [['fish', 'fish-common', 'libpcre2-32-0'], 'usr/bin/fish'],
}

/**
 * A shell to test completion in: the one on the path, or Debian's, unpacked into this checkout; empty where neither can be had. An
 * unpacked one doesn't find its own functions: `UNPACKED` in its environment says where they are.
 */
export async function findShell(name) {
  const found = findOnPath([name])
  if (found) return found
  try {
    const [needed, program] = packages[name]
    const folder = await unpackDebian(name, needed)
    const wrapper = join(root, '.cache', name, name)
    const environment = `UNPACKED='${folder}' LD_LIBRARY_PATH='${librariesOf(folder).join(':')}'`
    writeFileSync(wrapper, `#!/bin/sh\n${environment} exec '${join(folder, program)}' "$@"\n`)
    chmodSync(wrapper, 0o755)
    return wrapper
  } catch (error) {
    if (error instanceof NotHere) return ''
    throw error
  }
}
