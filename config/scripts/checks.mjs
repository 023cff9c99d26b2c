import { spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { pageFolders, root } from './shared.mjs'

const compiler = 'typescript/bin/tsc'

const types = {
  types: [compiler],
  ...Object.fromEntries(
    pageFolders.map((folder) => [`types of ${folder}`, [compiler, '-p', folder]]),
  ),
}
const style = {
  eslint: ['eslint/bin/eslint.js', '.'],
  // By content, so that a checkout that git has made anew is known as well.
  prettier: [
    ...['prettier/bin/prettier.cjs', '--check', '--log-level', 'warn'],
    ...['--cache', '--cache-strategy', 'content', '.'],
  ],
}
/** For a quick look: ESLint's cache doesn't know that a file's types come from others. */
const quickStyle = {
  ...style,
  eslint: [
    ...style.eslint,
    ...['--cache', '--cache-strategy', 'content', '--cache-location', '.cache/eslint'],
  ],
}

/**
 * Begins to check types and style of all files, beside what else is done. Gives what waits until that has
 * ended, prints what was found, and tells whether it was nothing.
 */
export function beginChecks({ isQuick }) {
  const checks = { ...types, ...(isQuick ? quickStyle : style) }
  const running = Object.entries(checks).map(([name, [file, ...args]]) => outcome(name, file, args))
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
    // Only what the tests leave over, which would be late otherwise.
    if (child.pid !== undefined) setPriority(child.pid, 19)
    // The end of the tests ends this too.
    process.once('exit', () => child.kill())
    child.on('error', ({ message }) => resolve({ name, isFine: false, output: message }))
    child.on('close', (code) => resolve({ name, isFine: code === 0, output }))
  })
}
