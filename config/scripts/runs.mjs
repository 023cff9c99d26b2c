import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { root } from './shared.mjs'
import { alone, ownProcess } from './lanes.mjs'
import { runFile, SharedProcesses } from './test-file.mjs'
import { keepTimes } from './times.mjs'

/** Two processors, and files that often wait. */
const usualJobs = 4
/** The most files that may fail because others take the processors: more have a fault in common. */
const mostAgain = 5
/** Clears the line of a terminal. */
const clear = '\r\x1b[K'

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
 * Runs files of tests, some at a time, and prints TAP; resolves to whether all passed, the number of claims that did, and
 * that of files of which parts are unproven. Where `twice` is set, a few that fail beside the others are run once more, one
 * after the other: what still fails then has failed. Files share processes, except for some, unless `isShared` is unset.
 */
export async function runFiles(
  files,
  { jobs = usualJobs, seconds = 900, twice = false, isShared = true, needsRedis = true } = {},
) {
  const startMs = performance.now()
  const report = new Report(files.length)
  const options = { seconds, needsRedis }
  const failed = []
  const processes = new SharedProcesses()
  const run = async (file) => {
    const isOwn = !isShared || ownProcess.includes(file)
    const outcome = await (isOwn ? runFile(file, options) : processes.runFile(file, options))
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
    const final = isAgain ? await runFile(outcome.file, options) : outcome
    report.tell(final)
    if (!final.isFine) failed.push(final)
    else process.stdout.write(`# Failed beside others, passed alone: ${outcome.file}\n`)
  }
  failed.push(...endedBadly)
  const { passed, unproven } = report.end(performance.now() - startMs, failed)
  return { isFine: failed.length === 0, passed, unproven }
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
  #files
  #told = 0
  #unproven = 0
  #counts = new Map()
  #times = {}
  #startMs = performance.now()
  /** People at a terminal see no more than what failed, and how far it is. */
  #isBrief = process.stdout.isTTY

  constructor(files) {
    this.#files = files
    process.stdout.write(`TAP version 14\n1..${files}\n`)
  }

  tell({ file, ms, lines, isFine, isUnproven, failures, counts }) {
    for (const [name, count] of counts) {
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + count)
    }
    this.#times[file] = Math.round(ms)
    this.#told++
    if (isUnproven) this.#unproven++
    if (this.#isBrief && isFine) return this.#progress()
    const text = [`# Subtest: ${file}`, ...lines.map((line) => `    ${line}`)]
    const result = `${isFine ? '' : 'not '}ok ${this.#told} - ${file}`
    const rest = isUnproven ? 'SKIP parts of it need a redis-server' : `time=${ms.toFixed(0)}ms`
    process.stdout.write(`${this.#isBrief ? clear : ''}${text.join('\n')}\n${result} # ${rest}\n`)
    if (!isFine) process.stdout.write(`  ---\n  failures: ${failures.length}\n  ...\n`)
  }

  #progress() {
    const seconds = ((performance.now() - this.#startMs) / 1_000).toFixed(0)
    const passed = this.#counts.get('pass') ?? 0
    const text = `${this.#told} of ${this.#files} files, ${passed} claims … ${seconds} s`
    process.stdout.write(`${clear}${text}`)
  }

  /** Prints what failed once more: a log that keeps only its end still says it. */
  end(ms, failed) {
    if (this.#isBrief) process.stdout.write(clear)
    for (const { file, failures } of failed) {
      for (const failure of failures) process.stdout.write(`\n# Failed: ${file}\n${failure}\n`)
    }
    const counts = [...this.#counts].map(([name, count]) => `${name}: ${count}`).join(', ')
    process.stdout.write(`\n# { ${counts} }\n# time=${ms.toFixed(0)}ms\n`)
    const own = Object.entries(this.#times).filter(([file]) => file.startsWith('test/'))
    keepTimes(Object.fromEntries(own))
    return { passed: this.#counts.get('pass') ?? 0, unproven: this.#unproven }
  }
}
