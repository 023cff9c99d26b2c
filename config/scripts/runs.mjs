import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { failuresSince } from './failures.mjs'

/** Of all files, so many may fail because others take the processors; more is no accident. */
const mostAgain = 5

/**
 * Runs all files. A few that fail beside the others are run once more, one after the other: what still fails then has failed.
 * `start` starts tap; resolves to whether all passed.
 */
export async function runAll(start) {
  const { isFine, failed } = await run(() => start())
  if (isFine || failed.length === 0 || failed.length > mostAgain) return isFine
  process.stdout.write(`\n# Once more, one after the other: ${failed.join(', ')}\n`)
  const again = await run(() => start('--jobs=1', ...failed))
  const passed = failed.filter((file) => !again.failed.includes(file))
  for (const file of passed) process.stdout.write(`# Failed beside others, passed alone: ${file}\n`)
  return again.isFine
}

/** Runs what `start` starts, and tells what failed. */
export async function run(start) {
  const startMs = Date.now()
  const child = start()
  const closed = once(child, 'close')
  const failed = child.stdout ? await printed(child.stdout) : []
  const [code] = await closed
  if (code === 0) return { isFine: true, failed: [] }
  for (const failure of failuresSince(startMs)) process.stdout.write(`\n# Failed: ${failure}`)
  return { isFine: false, failed }
}

/** Prints TAP; resolves to the files that failed, or to none if some weren't run. */
async function printed(output) {
  let planned = 0
  let ended = 0
  const failed = []
  for await (const line of createInterface(output)) {
    process.stdout.write(`${line}\n`)
    const [, count] = /^1\.\.(\d+)/.exec(line) ?? []
    if (count !== undefined) planned = Number(count)
    const [, not, file] = /^(not )?ok \d+ - (\S+)/.exec(line) ?? []
    if (file !== undefined) ended++
    if (not !== undefined) failed.push(file)
  }
  return ended === planned ? failed : []
}
