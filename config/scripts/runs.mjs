import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { root } from './shared.mjs'
import { alone, ownProcess } from './lanes.mjs'
import { runFile, SharedProcesses } from './test-file.mjs'

/** Two processors, and files that often wait. */
const usualJobs = 4
/** Of all files, so many may fail because others take the processors; more is no accident. */
const mostAgain = 5

/** The files of tests that are named, by themselves or by a folder, each once; undefined if there is none of a name. */
export function filesOf(names) {
  const places = names.map((name) => resolve(root, name))
  if (!places.every((place) => existsSync(place))) return undefined
  const files = places.flatMap((place) => {
    if (!statSync(place).isDirectory()) return [place]
    const inside = readdirSync(place, { recursive: true }).sort()
    return inside.filter((file) => file.endsWith('.test.ts')).map((file) => join(place, file))
  })
  return [...new Set(files)].map((file) => relative(root, file))
}

/**
 * Runs files of tests, some at a time, and prints TAP; resolves to whether there were any and all passed. Where `twice` is
 * set, a few that fail beside the others are run once more, one after the other: what still fails then has failed. Files
 * share processes, except for some, unless `isShared` is unset.
 */
export async function runFiles(
  files,
  { jobs = usualJobs, seconds = 900, twice = false, isShared = true } = {},
) {
  const startMs = performance.now()
  const report = new Report(files.length)
  const failed = []
  const processes = new SharedProcesses()
  const run = async (file) => {
    const isOwn = !isShared || ownProcess.includes(file)
    const outcome = await (isOwn ? runFile(file, seconds) : processes.runFile(file, seconds))
    if (outcome.isFine) return report.tell(outcome)
    failed.push(outcome)
    // It may pass alone: what it says now says why it may not beside others.
    if (twice) {
      const why = [`Failed beside others: ${file}`, ...outcome.failures].join('\n')
      process.stdout.write(`${why.replaceAll(/^/gm, '# ')}\n`)
    }
  }
  const { true: last = [], false: first = [] } = Object.groupBy(files, (file) =>
    alone.includes(file),
  )
  await inTurn(first, jobs, run)
  await inTurn(last, 1, run)
  const endedBadly = await processes.end()
  const isAgain = twice && failed.length <= mostAgain
  for (const outcome of failed.splice(0)) {
    const final = isAgain ? await runFile(outcome.file, seconds) : outcome
    report.tell(final)
    if (!final.isFine) failed.push(final)
    else process.stdout.write(`# Failed beside others, passed alone: ${outcome.file}\n`)
  }
  failed.push(...endedBadly)
  report.end(performance.now() - startMs, failed)
  return files.length > 0 && failed.length === 0
}

async function inTurn(files, jobs, run) {
  const left = files.values()
  const workers = Array.from({ length: jobs }, async () => {
    for (const file of left) await run(file)
  })
  await Promise.all(workers)
}

/** What is printed of a run: one text in TAP, with each file as a test whose own tests are inside. */
class Report {
  #told = 0
  #counts = new Map()

  constructor(files) {
    process.stdout.write(`TAP version 14\n1..${files}\n`)
  }

  tell({ file, ms, lines, isFine, failures, counts }) {
    for (const [name, count] of counts) {
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + count)
    }
    const text = [`# Subtest: ${file}`, ...lines.map((line) => `    ${line}`)]
    // Who looks at a terminal wants to see no more than what failed.
    if (!isFine || !process.stdout.isTTY) process.stdout.write(`${text.join('\n')}\n`)
    const result = `${isFine ? '' : 'not '}ok ${++this.#told} - ${file}`
    process.stdout.write(`${result} # time=${ms.toFixed(0)}ms\n`)
    if (!isFine) process.stdout.write(`  ---\n  failures: ${failures.length}\n  ...\n`)
  }

  /** Prints what failed once more: a log that keeps only its end still says it. */
  end(ms, failed) {
    for (const { file, failures } of failed) {
      for (const failure of failures) process.stdout.write(`\n# Failed: ${file}\n${failure}\n`)
    }
    const counts = [...this.#counts].map(([name, count]) => `${name}: ${count}`).join(', ')
    process.stdout.write(`\n# { ${counts} }\n# time=${ms.toFixed(0)}ms\n`)
  }
}
