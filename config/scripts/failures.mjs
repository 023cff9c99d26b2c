import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './shared.mjs'

const results = join(root, '.tap', 'test-results')
/** How much is printed of one failure. */
const maxLines = 40

/**
 * The failed assertions of the run that began at startMs, each with its file and its diagnosis: a log
 * of CI that keeps only its end still says what failed.
 */
export function failuresSince(startMs) {
  const files = existsSync(results) ? readdirSync(results, { recursive: true }) : []
  return files
    .map((name) => join(results, name))
    .filter((file) => file.endsWith('.tap') && statSync(file).mtimeMs >= startMs)
    .sort()
    .flatMap((file) =>
      failuresIn(readFileSync(file, 'utf8')).map(
        (failure) => `${relative(results, file).slice(0, -'.tap'.length)}\n${failure}\n`,
      ),
    )
}

/** Failed assertions in TAP's text; a subtest that failed because of one inside it isn't repeated. */
function failuresIn(text) {
  const lines = text.split('\n')
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
