import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { root } from './shared.mjs'

/** How much is printed of one failure. */
const maxLines = 40
/** A file ends itself when its time is over, and says which of its tests hung. Later it is killed. */
const killAfterMs = 30_000

/** Processes of files; the end of this one ends them. */
const running = new Set()
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')))
for (const signal of ['SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))

/** Runs a file of tests in a process of its own, and reads what it says in TAP. */
export async function runFile(file, seconds) {
  const startMs = performance.now()
  const child = spawn(process.execPath, [file], {
    cwd: root,
    env: { ...process.env, TAP: '1', TAP_TIMEOUT: String(seconds) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  const hung = setTimeout(
    () => {
      child.kill('SIGKILL')
      // What it has started may hold the other end.
      child.stdout.destroy()
    },
    seconds * 1_000 + killAfterMs,
  )
  const output = text(child.stdout).catch(() => '')
  const ended = await new Promise((resolve) => {
    child.once('error', ({ message }) => resolve(message))
    child.once('close', (code, signal) => resolve(signal ?? code))
  })
  clearTimeout(hung)
  running.delete(child)
  const ms = performance.now() - startMs
  return { file, ms, ...outcomeOf(await output, ended) }
}

/** Tells what came of a file of tests by its output, and by the exit code or signal that ended its process. */
function outcomeOf(output, ended) {
  const lines = output.trimEnd().split('\n')
  const planned = lines.map((line) => /^1\.\.(\d+)/.exec(line)?.[1]).find(Boolean)
  const results = lines.filter((line) => /^(?:not )?ok \d/.test(line)).length
  const failures = failuresIn(lines)
  if (ended !== 0 && failures.length === 0) failures.push(`its process ended: ${ended}`)
  else if (results === 0) failures.push('it has no tests')
  else if (Number(planned) !== results) failures.push('it ended before all of its tests had')
  return { lines, failures, isFine: failures.length === 0, counts: countsIn(lines) }
}

/** The sums at the end: how many assertions there were, passed, failed, and were skipped. */
function countsIn(lines) {
  const sums = lines.findLast((line) => line.startsWith('# {')) ?? ''
  return [...sums.matchAll(/(\w+): (\d+)/g)].map(([, name, count]) => [name, Number(count)])
}

/** Failed assertions, each with its diagnosis; a subtest that failed because of one inside it isn't repeated. */
function failuresIn(lines) {
  const failures = []
  let failedInside = ''
  lines.forEach((line, at) => {
    const result = /^( *)(not )?ok \d+(?!.*# (?:SKIP|TODO))/.exec(line)
    if (result === null) return
    const [, indent, failed] = result
    const isParent = failedInside.length > indent.length
    if (isParent) failedInside = ''
    if (failed === undefined) return
    failedInside = indent
    if (isParent) return
    const isDiagnosed = lines[at + 1] === `${indent}  ---`
    const end = isDiagnosed ? lines.indexOf(`${indent}  ...`, at) : at
    failures.push(lines.slice(at, Math.min(end + 1, at + maxLines)).join('\n'))
  })
  return failures
}
