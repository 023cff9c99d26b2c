import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { root } from './shared.mjs'

/** A file ends itself when its time is over, and says which of its tests hung. Later it is killed. */
const killAfterMs = 30_000

/** Processes of files; the end of this one ends them. */
const running = new Set()
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')))
for (const signal of ['SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))

/** Runs a file of tests in a process of its own. */
export async function runFile(file, options) {
  const own = new TestProcess()
  const outcome = await own.runFile(file, options)
  const { failures, isFine } = await own.end(outcome)
  return isFine ? outcome : { ...outcome, failures, isFine }
}

/** Files that one process runs: what they leave behind in memory grows. */
const mostFiles = 25
const script = join(root, 'config/scripts/test-process.mjs')

/** Processes that run files one after the other: to load what they test takes longer than most of them. */
export class SharedProcesses {
  #idle = []
  #ends = []

  async runFile(file, options) {
    const own = this.#idle.pop() ?? new TestProcess()
    const outcome = await own.runFile(file, options)
    const goesOn = outcome.isFine && !outcome.isUnproven && own.files.length < mostFiles
    if (goesOn) this.#idle.push(own)
    else this.#ends.push(own.end(outcome))
    return outcome
  }

  /** Resolves to the outcomes of processes that didn't end well, after files that did. */
  async end() {
    const ends = [...this.#ends.splice(0), ...this.#idle.splice(0).map((own) => own.end())]
    return (await Promise.all(ends)).filter(({ isFine }) => !isFine)
  }
}

class TestProcess {
  files = []
  #child = spawn(process.execPath, [script], {
    cwd: root,
    // Each file has a time limit of its own.
    env: { ...process.env, TAP: '1', TAP_TIMEOUT: '0' },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  #reader = createInterface(this.#child.stdout)
  #lines = this.#reader[Symbol.asyncIterator]()
  #ended = new Promise((resolve) => {
    this.#child.once('exit', (code, signal) => resolve(signal ?? code))
  })

  constructor() {
    running.add(this.#child)
    void this.#ended.then(() => running.delete(this.#child))
  }

  async runFile(file, { seconds, needsRedis }) {
    this.files.push(file)
    const startMs = performance.now()
    this.#child.send({ file, seconds })
    const hung = setTimeout(() => this.#kill(), seconds * 1_000 + killAfterMs)
    const lines = []
    let result
    while (result === undefined) {
      const { value: line, done } = await this.#lines.next()
      if (done) break
      if (line.endsWith(`# Subtest: ${file}`)) continue
      if (line.includes(` - ${file}`)) result = /^(?:not )?ok(?= )/.exec(line)?.[0]
      if (result === undefined) lines.push(line.replace(/^ {4}/, ''))
    }
    clearTimeout(hung)
    const ms = performance.now() - startMs
    const reason = result === undefined ? `its process ended: ${await this.#ended}` : 'it failed'
    return { file, ms, ...outcomeOf(lines, result === 'ok' ? undefined : reason, { needsRedis }) }
  }

  /** Lets it end by itself, as a file's own process does, and tells how it did. What failed before may have left anything behind. */
  async end({ isFine = true, isUnproven = false } = {}) {
    if (this.#child.connected) this.#child.disconnect()
    const hung = setTimeout(() => this.#kill(), killAfterMs)
    const ended = await this.#ended
    clearTimeout(hung)
    const failures = ended === 0 || !isFine || isUnproven ? [] : [`it ended: ${ended}`]
    return {
      file: `the process of ${this.files.join(', ')}`,
      failures,
      isFine: failures.length === 0,
    }
  }

  #kill() {
    this.#child.kill('SIGKILL')
    // What it has started may hold the other end.
    this.#child.stdout.destroy()
    this.#reader.close()
  }
}

/** How much is printed of one failure. */
const maxLines = 40

/** The error of tests that need a Redis, where there is none (test/support/redis.ts). */
const withoutRedis = 'There is no redis-server.'

/**
 * Tells what came of a file of tests by its output, and by the reason if it failed in another way. Where Redis isn't
 * needed, what lacks one hasn't failed: it is unproven.
 */
export function outcomeOf(output, reason, { needsRedis = true } = {}) {
  const lines = output.filter((line) => line !== 'TAP version 14')
  const planned = lines.map((line) => /^1\.\.(\d+)/.exec(line)?.[1]).find(Boolean)
  const results = [...resultsIn(lines)]
  const told = results.filter(({ indent }) => indent === '').length
  const texts = results.flatMap((result) => (result.isFailure ? [textOf(result, lines)] : []))
  const failures = texts.filter((text) => needsRedis || !text.includes(withoutRedis))
  const isUnproven = failures.length < texts.length
  if (isUnproven)
    return { lines, failures, isFine: failures.length === 0, isUnproven, counts: countsOf(results) }
  if (reason !== undefined && failures.length === 0) failures.push(reason)
  else if (told === 0) failures.push('it has no tests')
  else if (Number(planned) !== told) failures.push('it ended before all of its tests had')
  return { lines, failures, isFine: failures.length === 0, counts: countsOf(results) }
}

/** Results in a text of TAP. A test that failed because of one inside it is no failure of its own. */
function* resultsIn(lines) {
  let [before, failedInside] = ['', '']
  for (const [at, line] of lines.entries()) {
    const found = /^( *)(not )?ok \d+(?:.*[^\\]# (SKIP|TODO))?/.exec(line)
    if (found === null) continue
    const [, indent, failed, directive] = found
    const isParent = before.length > indent.length
    const hasFailedInside = failedInside.length > indent.length
    const isFailed = failed !== undefined && directive === undefined
    before = indent
    if (hasFailedInside) failedInside = ''
    if (isFailed) failedInside = indent
    yield { at, indent, isParent, isFailed, isFailure: isFailed && !hasFailedInside, directive }
  }
}

/** How many assertions there were, passed, failed, and were skipped. */
function countsOf(results) {
  const assertions = results.filter(({ isParent }) => !isParent)
  const kinds = assertions.map(({ isFailed, directive }) => {
    return directive?.toLowerCase() ?? (isFailed ? 'fail' : 'pass')
  })
  const counts = new Map([['total', assertions.length]])
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

/** A failed result with its diagnosis. */
function textOf({ at, indent }, lines) {
  const isDiagnosed = lines[at + 1] === `${indent}  ---`
  const end = isDiagnosed ? lines.indexOf(`${indent}  ...`, at) : at
  return lines.slice(at, Math.min(end + 1, at + maxLines)).join('\n')
}
