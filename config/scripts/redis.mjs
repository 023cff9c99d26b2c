import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { root, SetupError } from './shared.mjs'

const folder = join(root, '.cache', 'redis')
const wrapper = join(folder, 'redis-server')
const packages = ['redis-tools', 'libjemalloc2', 'liblzf1']

/**
 * A redis-server to run tests with: the one that REDIS_SERVER_BIN names, or one on the path, or
 * Debian's, unpacked into this checkout. Nothing is installed and no service is started.
 */
export function findRedis() {
  const { REDIS_SERVER_BIN, PATH = '' } = process.env
  if (REDIS_SERVER_BIN) return REDIS_SERVER_BIN
  for (const name of ['redis-server', 'valkey-server']) {
    const found = PATH.split(delimiter).find((place) => existsSync(join(place, name)))
    if (found) return join(found, name)
  }
  if (!existsSync(wrapper)) unpack()
  return wrapper
}

function unpack() {
  process.stderr.write('Fetching a redis-server for the tests\n')
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
    run('dpkg', ['-x', join(folder, 'debs', deb), join(folder, 'root')])
  }
  // One binary is server, checker and sentinel; it goes by the name that it is called by.
  const binary = join(folder, 'root', 'redis-server')
  if (!existsSync(binary)) symlinkSync('usr/bin/redis-check-rdb', binary)
  const libraries = readdirSync(join(folder, 'root/usr/lib')).filter((name) =>
    name.includes('linux'),
  )
  const path = libraries.map((name) => join(folder, 'root/usr/lib', name)).join(':')
  writeFileSync(wrapper, `#!/bin/sh\nLD_LIBRARY_PATH='${path}' exec '${binary}' "$@"\n`)
  chmodSync(wrapper, 0o755)
}

function run(command, args, cwd = root) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status === 0) return stdout
  throw new SetupError(
    `The tests need a redis-server, and it can't be fetched here (${command}: ` +
      `${error?.message ?? stderr.trim().split('\n').at(-1)}). Install redis, or set REDIS_SERVER_BIN to one.`,
  )
}
