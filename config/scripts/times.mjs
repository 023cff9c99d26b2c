import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './shared.mjs'

const folder = join(root, '.cache', 'test-times')

/** How many milliseconds each file of tests took when it ran last, here or where the folder was made. */
export function readTimes() {
  const names = existsSync(folder) ? readdirSync(folder) : []
  const all = names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  return Object.assign({}, ...all)
}

/** Keeps the times of a run, in a file that may be named: each of several machines has its own. */
export function keepTimes(times, name = process.env.TEST_TIMES || 'here') {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${name}.json`)
  const before = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  writeFileSync(file, JSON.stringify({ ...before, ...times }))
}

/** Shares files out evenly by their times: the longest first, each to the one that has least. A new file takes what most do. */
export function sharesOf(files, times, count) {
  const known = files.flatMap((file) => times[file] ?? []).sort((a, b) => a - b)
  const usual = known[known.length >> 1] ?? 1
  const timeOf = (file) => times[file] ?? usual
  const shares = Array.from({ length: count }, () => ({ ms: 0, files: [] }))
  for (const file of [...files].sort((a, b) => timeOf(b) - timeOf(a))) {
    const least = shares.reduce((a, b) => (b.ms < a.ms ? b : a))
    least.ms += timeOf(file)
    least.files.push(file)
  }
  return shares.map((share) => share.files)
}
