import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { root } from './shared.mjs'

const cache = join(root, '.cache')
const start = promisify(execFile)

/** Dependencies of Debian's packages that can't be installed here. */
export class NotHere extends Error {}

/**
 * Downloads packages of Debian's and unpacks them into a folder of this checkout's cache: nothing is
 * installed, no rights are needed, no service is started. Gives the root of what was unpacked.
 * `withDependencies` takes along what this machine lacks of what they depend on.
 */
export async function unpackDebian(name, packages, { withDependencies = false } = {}) {
  const target = join(cache, name, 'root')
  if (existsSync(target)) return target
  process.stderr.write(`Fetching ${name} for the tests\n`)
  const { folder, options } = await (ownApt ??= fetchLists())
  const work = mkdtempSync(join(folder, 'debs-'))
  const args = ['-qq', '-s', '--no-install-recommends', 'install', ...packages]
  const plan = withDependencies ? await run('apt-get', [...options, ...args]) : ''
  const lacking = [...plan.matchAll(/^Inst (\S+)/gm)].map(([, each]) => each)
  const wanted = new Set([...packages, ...lacking])
  await run('apt-get', [...options, '-qq', 'download', ...wanted], work)
  const unpacked = join(work, 'root')
  for (const deb of readdirSync(work)) await run('dpkg', ['-x', join(work, deb), unpacked])
  mkdirSync(dirname(target), { recursive: true })
  // Whole or not at all; another run may have been faster.
  if (!existsSync(target)) renameSync(unpacked, target)
  return target
}

/** The folders in which unpacked packages have their libraries; some have a folder of their own for theirs. */
export function librariesOf(target) {
  const folders = ['usr/lib', 'lib'].map((name) => join(target, name)).filter(existsSync)
  const named = (place, pattern) =>
    readdirSync(place)
      .filter((name) => pattern.test(name))
      .map((name) => join(place, name))
  const usual = folders.flatMap((folder) => named(folder, /linux/))
  const ofOne = usual.flatMap((place) => named(place, /^[^.]+$/))
  const isOfLibraries = (place) =>
    statSync(place).isDirectory() && named(place, /\.so(?:\.|$)/).length > 0
  return [...usual, ...ofOne.filter(isOfLibraries)]
}

/** A folder with lists of Debian's packages, fetched once in this run: the machine's own may be empty, or another's to lock. */
let ownApt

async function fetchLists() {
  removeLeftovers()
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, `apt-${process.pid}-`))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  for (const part of ['state/lists/partial', 'cache/archives/partial']) {
    mkdirSync(join(folder, part), { recursive: true })
  }
  const user = await run('id', ['-un'])
  const options = [
    `Dir::State=${join(folder, 'state')}`,
    'Dir::State::status=/var/lib/dpkg/status',
    `Dir::Cache=${join(folder, 'cache')}`,
    'Debug::NoLocking=1',
    `APT::Sandbox::User=${user.trim()}`,
  ].flatMap((option) => ['-o', option])
  await run('apt-get', [...options, '-qq', 'update'])
  return { folder, options }
}

/** Removes the lists of runs that a signal has ended: nothing of theirs could. */
export function removeLeftovers() {
  for (const name of existsSync(cache) ? readdirSync(cache) : []) {
    const [, pid] = /^apt-(\d+)-/.exec(name) ?? []
    const isLeft = pid === undefined ? name.startsWith('apt-') : !isRunning(Number(pid))
    if (isLeft) rmSync(join(cache, name), { recursive: true, force: true, maxRetries: 3 })
  }
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** Runs a program without holding up what goes on beside it; gives its output. */
async function run(command, args, cwd = root) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }
  try {
    return (await start(command, args, { cwd, env, maxBuffer: Infinity })).stdout
  } catch ({ message, stderr = '' }) {
    throw new NotHere(`${command}: ${stderr.trim().split('\n').at(-1) || message}`)
  }
}
