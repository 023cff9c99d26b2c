/** A table in Markdown, as prettier writes it: for a terminal, and to be pasted into a README. */
export function markdown(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [heads, ...rows]
  const widths = heads.map((_, i) => Math.max(3, ...all.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, i) => (cells[i] ?? '').padEnd(width)).join(' | ')} |`
  const rule = line(widths.map((width) => '-'.repeat(width)))
  return [line(heads), rule, ...rows.map(line)].join('\n')
}

/** A column: its head, and its cell in the row of something. Empty columns are left out. */
export type Column<T> = Readonly<[head: string, cell: (row: T) => string]>

export function tableOf<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  const filled = columns.filter(([, cell]) => rows.some((row) => cell(row) !== ''))
  return markdown(
    filled.map(([head]) => head),
    rows.map((row) => filled.map(([, cell]) => cell(row))),
  )
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en')
}
