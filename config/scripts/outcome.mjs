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
