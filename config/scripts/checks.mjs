import { spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { pageFolders, root } from './shared.mjs'

/** In CI everything is checked anew; elsewhere what has changed: types of packages, and in style those of other files, may be missed. */
const isFresh = process.env.CI !== undefined
const cache = ['--cache', '--cache-strategy', 'content', '--cache-location', '.cache/eslint']
// It knows files by their contents, so that a checkout that git has made anew is known as well.
const prettier = ['--experimental-cli', '--check', '--log-level', 'warn']

const kinds = {
  // All folders that have types in one process, which reads each library once.
  types: {
    types: ['typescript/bin/tsc', '-b', '.', ...pageFolders, ...(isFresh ? ['--force'] : [])],
  },
  style: {
    prettier: ['prettier/bin/prettier.cjs', ...prettier, '.'],
    eslint: ['eslint/bin/eslint.js', '.', ...(isFresh ? [] : cache)],
  },
}

/**
 * Begins to check all files' types, style or both, beside what else is done. Gives what waits until that has
 * ended, prints what was found, and tells whether it was nothing.
 */
export function beginChecks(names) {
  const checks = names.flatMap((name) => Object.entries(kinds[name]))
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
