import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from 'diff/lib/patch/create.js'

export type DiffOptions = Readonly<{
  /** The name of the file. */
  name: string
  /** Whether lines that stay are shown around each change: three, where the whole text may be read. */
  isAround: boolean
}>

/** More changed lines than this are shown as one change: the exact comparison takes the square of their number. */
const maxEditLength = 1_000

/** The lines that change from one text to another, as `diff -u` prints them; empty if none do. */
export function unifiedDiff(
  before: string,
  after: string,
  { name, isAround }: DiffOptions,
): string {
  if (before === after) return ''
  const context = isAround ? 3 : 0
  const patch = structuredPatch(name, name, before, after, '', '', { context, maxEditLength })
  const names = { oldFileName: name, newFileName: name, oldHeader: '', newHeader: '' }
  return formatPatch(patch ?? { ...names, hunks: [allNew(before, after)] }, FILE_HEADERS_ONLY)
}

function allNew(before: string, after: string) {
  const [removed, added] = [addition(before), addition(after)]
  return {
    ...{ oldStart: 1, oldLines: removed.newLines, newStart: 1, newLines: added.newLines },
    lines: [...removed.lines.map((line) => line.replace(/^\+/, '-')), ...added.lines],
  }
}

function addition(text: string) {
  const [hunk = { newLines: 0, lines: [] }] = structuredPatch('', '', '', text).hunks
  return hunk
}
