/** A line of a comparison: in both texts, only in the one before, or only in the one after. */
type Line = Readonly<{ mark: ' ' | '-' | '+'; text: string }>

export type DiffOptions = Readonly<{
  /** The name of the file. */
  name: string
  /** The number of lines that stay, shown around each change. */
  context: number
}>

/** The lines around each change where the whole text may be read. */
export const contextLines = 3

/** More changed lines than this are shown as one change: the exact comparison takes the square of their number. */
const mostChanges = 1_000

/** The lines that change from one text to another, as `diff -u` prints them; empty if none do. */
export function unifiedDiff(before: string, after: string, { name, context }: DiffOptions): string {
  if (before === after) return ''
  const lines = compared(linesOf(before), linesOf(after))
  const shown = lines.map((_, i) =>
    lines.slice(Math.max(0, i - context), i + context + 1).some(({ mark }) => mark !== ' '),
  )
  const output = [`--- ${name}`, `+++ ${name}`]
  let [old, fresh] = [0, 0]
  for (let i = 0; i < lines.length;) {
    const end = shown[i] ? endOfRun(shown, i) : i + 1
    const hunk = lines.slice(i, end)
    const [removed, added] = [count(hunk, '+'), count(hunk, '-')]
    if (shown[i]) {
      output.push(`@@ -${range(old, removed)} +${range(fresh, added)} @@`)
      for (const line of hunk) output.push(lineText(line))
    }
    old += removed
    fresh += added
    i = end
  }
  return `${output.join('\n')}\n`
}

/** The lines of a text with their ends, which are compared too. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

function lineText({ mark, text }: Line): string {
  return text.endsWith('\n')
    ? `${mark}${text.slice(0, -1)}`
    : `${mark}${text}\n\\ No newline at end of file`
}

function endOfRun(shown: readonly boolean[], start: number): number {
  const end = shown.indexOf(false, start)
  return end < 0 ? shown.length : end
}

/** The number of lines of a hunk without those of the other text. */
function count(lines: readonly Line[], without: Line['mark']): number {
  return lines.filter(({ mark }) => mark !== without).length
}

/** The first line, from 1, and the number of lines of one side; of no lines, the line before. */
function range(before: number, length: number): string {
  if (length === 1) return String(before + 1)
  return `${length === 0 ? before : before + 1},${length}`
}

function compared(old: readonly string[], fresh: readonly string[]): Line[] {
  let start = 0
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++
  let same = 0
  const most = Math.min(old.length, fresh.length) - start
  while (same < most && old.at(-1 - same) === fresh.at(-1 - same)) same++
  const both = (text: string): Line => ({ mark: ' ', text })
  return [
    ...old.slice(0, start).map(both),
    ...shortest(old.slice(start, old.length - same), fresh.slice(start, fresh.length - same)),
    ...old.slice(old.length - same).map(both),
  ]
}

/**
 * The shortest way from one list of lines to another, as Myers found it: `reach` has, for each diagonal `x - y`, how
 * far `x` gets with a number of changes.
 */
function shortest(old: readonly string[], fresh: readonly string[]): Line[] {
  const all = old.length + fresh.length
  const reaches: Map<number, number>[] = []
  let reach = new Map([[1, 0]])
  for (let changes = 0; changes <= Math.min(all, mostChanges); changes++) {
    reaches.push(reach)
    const next = new Map<number, number>()
    for (let k = -changes; k <= changes; k += 2) {
      const isDown = k === -changes || (k !== changes && at(reach, k - 1) < at(reach, k + 1))
      let x = isDown ? at(reach, k + 1) : at(reach, k - 1) + 1
      while (x < old.length && x - k < fresh.length && old[x] === fresh[x - k]) x++
      next.set(k, x)
      if (x >= old.length && x - k >= fresh.length) return wayBack(old, fresh, reaches)
    }
    reach = next
  }
  return [...removed(old), ...added(fresh)]
}

function wayBack(
  old: readonly string[],
  fresh: readonly string[],
  reaches: readonly ReadonlyMap<number, number>[],
): Line[] {
  const lines: Line[] = []
  let [x, y] = [old.length, fresh.length]
  for (let changes = reaches.length - 1; changes >= 0; changes--) {
    const reach = reaches[changes] ?? new Map<number, number>()
    const k = x - y
    const isDown = k === -changes || (k !== changes && at(reach, k - 1) < at(reach, k + 1))
    const fromK = isDown ? k + 1 : k - 1
    const fromX = changes === 0 ? 0 : at(reach, fromK)
    const fromY = changes === 0 ? 0 : fromX - fromK
    while (x > fromX && y > fromY) {
      lines.push({ mark: ' ', text: old[--x] ?? '' })
      y--
    }
    if (changes === 0) break
    if (isDown) lines.push(...added(fresh.slice(--y, y + 1)))
    else lines.push(...removed(old.slice(--x, x + 1)))
  }
  return lines.reverse()
}

function at(reach: ReadonlyMap<number, number>, diagonal: number): number {
  return reach.get(diagonal) ?? 0
}

function removed(lines: readonly string[]): Line[] {
  return lines.map((text) => ({ mark: '-', text }))
}

function added(lines: readonly string[]): Line[] {
  return lines.map((text) => ({ mark: '+', text }))
}
