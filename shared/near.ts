/** The name among some that a misspelled one is most likely meant to be; none if none is near. */
export function nearest(name: string, names: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Math.max(1, Math.floor(name.length / 3)) + 1
  // Of three letters, one that is another makes another word: foo isn't a misspelled for.
  const changed = name.length > 3 ? 1 : 2
  for (const each of names) {
    if (Math.abs(name.length - each.length) >= least) continue
    const far = distance(name.toLowerCase(), each.toLowerCase(), changed)
    if (far < least) [best, least] = [each, far]
  }
  return best
}

/** Whether a name is another one but for the case and one letter. */
export function isNear(name: string, other: string): boolean {
  return distance(name.toLowerCase(), other.toLowerCase(), 1) <= 1
}

/** How many letters must be put in, left out, changed or swapped to make one text of another; a change may count more. */
function distance(from: string, to: string, changed: number): number {
  let [before, row]: [number[], number[]] = [[], Array.from({ length: to.length + 1 }, (_, i) => i)]
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const change = from[i - 1] === to[j - 1] ? 0 : changed
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + change,
        isSwapped ? (before[j - 2] ?? 0) + 1 : Infinity,
      )
    }
    ;[before, row] = [row, next]
  }
  return row[to.length] ?? 0
}
