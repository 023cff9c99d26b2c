import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installDebian, librariesOf, NotHere, unpackDebian } from './debian.mjs'
import { findOnPath, root } from './shared.mjs'

const names = ['chromium', 'chromium-browser', 'google-chrome']
const folder = join(root, '.cache', 'chromium')
const wrapper = join(folder, 'chromium')

/**
 * A Chromium to test the console with: the one that CHROMIUM_BIN names, or one on the path, or Debian's, installed
 * where this is root, else unpacked into this checkout. Empty where it can't be had: the tests that need it then fail.
 */
export async function findChromium() {
  const found = process.env.CHROMIUM_BIN || findOnPath(names)
  if (found) return found
  if (existsSync(wrapper)) return wrapper
  try {
    return await installDebian(['chromium'])
      .then(() => findOnPath(names))
      .catch(orNothing)
      .then((installed) => installed || unpack())
  } catch (error) {
    orNothing(error)
    process.stderr.write(`Chromium can't be fetched here (${error.message}).\n`)
    return ''
  }
}

async function unpack() {
  const target = await unpackDebian('chromium', ['chromium'], { withDependencies: true })
  const fonts = join(folder, 'fonts.conf')
  writeFileSync(
    fonts,
    `<?xml version="1.0"?>
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>${target}/usr/share/fonts</dir>
  <cachedir>${folder}/fonts</cachedir>
</fontconfig>
`,
  )
  const path = librariesOf(target).join(':')
  const surroundings = `LD_LIBRARY_PATH='${path}' FONTCONFIG_FILE='${fonts}'`
  const script = `#!/bin/sh\n${surroundings} exec '${target}/usr/lib/chromium/chromium' "$@"\n`
  writeFileSync(`${wrapper}.new`, script)
  chmodSync(`${wrapper}.new`, 0o755)
  const { status, stderr } = spawnSync(`${wrapper}.new`, ['--version'], { encoding: 'utf8' })
  if (status !== 0) throw new NotHere(`it doesn't run: ${String(stderr).trim().split('\n').at(-1)}`)
  renameSync(`${wrapper}.new`, wrapper)
  return wrapper
}

function orNothing(error) {
  if (!(error instanceof NotHere)) throw error
  return ''
}
