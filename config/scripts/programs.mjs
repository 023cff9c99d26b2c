import { chmodSync, existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { librariesOf, NotHere, unpackDebian } from './debian.mjs'
import { findOnPath, root, SetupError } from './shared.mjs'

/** Where Debian puts PostgreSQL: beside the path. */
const postgresFolder = 'usr/lib/postgresql/15/bin'

/**
 * The programs that tests run beside Node and Chromium, each with Debian's packages, what these need that a base system
 * lacks, and its file in them. `paths` are its names on the path, if others fit as well.
 */
const programs = {
  'redis-server': {
    paths: ['redis-server', 'valkey-server'],
    packages: ['redis-tools', 'libjemalloc2', 'liblzf1'],
    // One binary is server, checker and sentinel; it goes by the name that it is called by.
    file: 'usr/bin/redis-check-rdb',
    folder: 'redis',
  },
  promtool: { packages: ['prometheus'], file: 'usr/bin/promtool', folder: 'prometheus' },
  prometheus: { packages: ['prometheus'], file: 'usr/bin/prometheus' },
  nginx: { packages: ['nginx', 'libpcre2-8-0'], file: 'usr/sbin/nginx' },
  caddy: { packages: ['caddy'], file: 'usr/bin/caddy' },
  'nginx-lua': {
    packages: [
      ...['nginx', 'libpcre2-8-0', 'libpcre3', 'libluajit2-5.1-2', 'libnginx-mod-http-ndk'],
      ...['libnginx-mod-http-lua', 'lua-resty-core', 'lua-resty-lrucache', 'lua-nginx-redis'],
    ],
    file: 'usr/sbin/nginx',
  },
  haproxy: {
    packages: [
      ...['haproxy', 'liblua5.3-0', 'libopentracing-c-wrapper0', 'libopentracing1'],
      'libpcre2-8-0',
    ],
    file: 'usr/sbin/haproxy',
  },
  postgres: ofPostgres('postgres'),
  initdb: ofPostgres('initdb'),
  // Its packages have the version in their names. It finds its own sources beside its file.
  go: { packages: ['golang-go'], withDependencies: true, file: 'usr/lib/go/bin/go' },
}

/** A program of PostgreSQL, which finds its files by its own place. */
function ofPostgres(name) {
  const options = {
    packages: ['postgresql-15', 'libpq5'],
    withDependencies: true,
    folder: 'postgres',
  }
  return { file: join(postgresFolder, name), ...options }
}

/**
 * A program: the one that its variable names, or one on the path, or Debian's, unpacked into this checkout; empty where
 * it can't be had, which is told: the tests that need it then fail.
 */
export async function findProgram(name) {
  try {
    return await foundOrFetched(name)
  } catch (error) {
    if (!(error instanceof NotHere)) throw error
    process.stderr.write(`${name} can't be fetched here (${error.message}).\n`)
    return ''
  }
}

/** A redis-server; throws where none can be had. */
export async function findRedis() {
  try {
    return await foundOrFetched('redis-server')
  } catch (error) {
    if (!(error instanceof NotHere)) throw error
    throw new SetupError(
      `Tests need a redis-server, and none can be fetched here (${error.message}). ` +
        `Install redis, or set REDIS_SERVER_BIN to one.`,
    )
  }
}

async function foundOrFetched(name) {
  const { paths = [name], packages, file, folder = name, ...options } = programs[name] ?? {}
  const found =
    process.env[variableOf(name)] || findOnPath(paths, '/usr/sbin', join('/', postgresFolder))
  if (found || !packages) return found
  const target = await unpackDebian(folder, packages, options)
  const binary = join(target, name)
  if (!existsSync(binary)) symlinkSync(file, binary)
  const wrapper = join(root, '.cache', folder, name)
  const environment = `LD_LIBRARY_PATH='${librariesOf(target).join(':')}'`
  writeFileSync(wrapper, `#!/bin/sh\n${environment} exec '${binary}' "$@"\n`)
  chmodSync(wrapper, 0o755)
  return wrapper
}

/** The variable of the environment that names a program: `REDIS_SERVER_BIN`. */
export function variableOf(name) {
  return `${name.toUpperCase().replaceAll('-', '_')}_BIN`
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
