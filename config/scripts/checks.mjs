import { spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { pageFolders, root } from './shared.mjs'

/** All folders that have types in one process, which reads each library once. */
const types = ['typescript/bin/tsc', '-b', '.', ...pageFolders]
const eslint = ['eslint/bin/eslint.js', '.']
const always = {
  // It knows files by their contents, so that a checkout that git has made anew is known as well.
  prettier: [
    'prettier/bin/prettier.cjs',
    '--experimental-cli',
    '--check',
    '--log-level',
    'warn',
    '.',
  ],
}
const whole = { ...always, types: [...types, '--force'], eslint }
/** By what has changed since: of packages, and of types that come from other files, they may not notice it. */
const quick = {
  ...always,
  types,
  eslint: [
    ...eslint,
    ...['--cache', '--cache-strategy', 'content', '--cache-location', '.cache/eslint'],
  ],
}

/**
 * Begins to check types and style of all files, beside what else is done. Gives what waits until that has
 * ended, prints what was found, and tells whether it was nothing.
 */
export function beginChecks({ isQuick }) {
  const checks = Object.entries(isQuick ? quick : whole)
  const running = checks.map(([name, [file, ...args]]) => outcome(name, file, args))
  return async () => {
    const outcomes = await Promise.all(running)
    for (const { name, isFine, output } of outcomes) {
      process.stdout.write(`# ${name}: ${isFine ? 'fine' : `not as it should be\n${output}`}\n`)
    }
    return outcomes.every(({ isFine }) => isFine)
  }
}

function outcome(name, file, args) {
  return new Promise((resolve) => {
    let output = ''
    const options = { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] }
    const child = spawn(process.execPath, [join(root, 'node_modules', file), ...args], options)
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (output += text))
    }
    // Tests go first, which would be late otherwise. At the lowest priority, checks would still run when tests have ended.
    if (child.pid !== undefined) setPriority(child.pid, 10)
    // The end of the tests ends this too.
    process.once('exit', () => child.kill())
    child.on('error', ({ message }) => resolve({ name, isFine: false, output: message }))
    child.on('close', (code) => resolve({ name, isFine: code === 0, output }))
  })
}
