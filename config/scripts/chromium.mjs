import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { librariesOf, NotHere, unpackDebian } from './debian.mjs'
import { findOnPath, root } from './shared.mjs'

/** Chromium without windows of its own, with which a test takes two thirds of the processor time. */
const shells = ['chromium-headless-shell', 'chrome-headless-shell']
const others = ['chromium', 'chromium-browser', 'google-chrome']
const folder = join(root, '.cache', 'chromium')
const wrapper = join(folder, 'chromium')
/** Which fonts stand for a page's, where this machine has no such rules: another may be half again as wide. */
const preferences = ['45-latin', '49-sansserif', '60-latin'].map(
  (name) => `usr/share/fontconfig/conf.avail/${name}.conf`,
)

/**
 * A Chromium to test the pages with: the one that CHROMIUM_BIN names, or a headless shell on the path, or Debian's, unpacked
 * into this checkout, or another on the path. Empty where none can be had: the tests that need it then fail.
 */
export async function findChromium() {
  const found = process.env.CHROMIUM_BIN || findOnPath(shells)
  if (found) return found
  if (existsSync(wrapper)) return wrapper
  try {
    return await unpack()
  } catch (error) {
    if (!(error instanceof NotHere)) throw error
    const other = findOnPath(others)
    const instead = other ? `${other} takes its place` : 'tests of pages will fail'
    process.stderr.write(
      `Chromium's headless shell can't be fetched here (${error.message}): ${instead}.\n`,
    )
    return other
  }
}

async function unpack() {
  // The second one has files that the first looks for beside itself, even where the machine has it.
  const packages = ['chromium-headless-shell', 'chromium-common']
  const target = await unpackDebian('chromium', packages, { withDependencies: true })
  const fonts = join(folder, 'fonts.conf')
  writeFileSync(
    fonts,
    `<?xml version="1.0"?>
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
${preferences.map((name) => `  <include ignore_missing="yes">${target}/${name}</include>`).join('\n')}
  <dir>/usr/share/fonts</dir>
  <dir>${target}/usr/share/fonts</dir>
  <cachedir>${folder}/fonts</cachedir>
</fontconfig>
`,
  )
  const path = librariesOf(target).join(':')
  const surroundings = `LD_LIBRARY_PATH='${path}' FONTCONFIG_FILE='${fonts}'`
  const script = `#!/bin/sh\n${surroundings} exec '${target}/usr/lib/chromium/chromium-headless-shell' "$@"\n`
  writeFileSync(`${wrapper}.new`, script)
  chmodSync(`${wrapper}.new`, 0o755)
  const { status, stderr } = spawnSync(`${wrapper}.new`, ['--version'], { encoding: 'utf8' })
  if (status !== 0) throw new NotHere(`it doesn't run: ${String(stderr).trim().split('\n').at(-1)}`)
  renameSync(`${wrapper}.new`, wrapper)
  return wrapper
}
