import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './shared.mjs'

/** Dependencies of Debian's packages that can't be installed here. */
export class NotHere extends Error {}

/**
 * Downloads packages of Debian's and unpacks them into a folder of this checkout's cache: nothing is
 * installed, no rights are needed, no service is started. Gives the root of what was unpacked.
 */
export function unpackDebian(name, packages) {
  const folder = join(root, '.cache', name)
  const target = join(folder, 'root')
  if (existsSync(target)) return target
  process.stderr.write(`Fetching ${name} for the tests\n`)
  for (const part of ['state/lists/partial', 'cache/archives/partial', 'debs']) {
    mkdirSync(join(folder, part), { recursive: true })
  }
  const options = [
    `Dir::State=${join(folder, 'state')}`,
    'Dir::State::status=/var/lib/dpkg/status',
    `Dir::Cache=${join(folder, 'cache')}`,
    'Debug::NoLocking=1',
    `APT::Sandbox::User=${run('id', ['-un']).trim()}`,
  ].flatMap((option) => ['-o', option])
  run('apt-get', [...options, '-qq', 'update'])
  run('apt-get', [...options, '-qq', 'download', ...packages], join(folder, 'debs'))
  for (const deb of readdirSync(join(folder, 'debs'))) {
    run('dpkg', ['-x', join(folder, 'debs', deb), target])
  }
  return target
}

/** The folders in which unpacked packages have their libraries. */
export function librariesOf(target) {
  const folder = join(target, 'usr/lib')
  return readdirSync(folder)
    .filter((name) => name.includes('linux'))
    .map((name) => join(folder, name))
}

function run(command, args, cwd = root) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status === 0) return stdout
  throw new NotHere(`${command}: ${error?.message ?? stderr.trim().split('\n').at(-1)}`)
}
