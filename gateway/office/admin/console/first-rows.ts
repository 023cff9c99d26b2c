import { useState } from 'preact/hooks'
import { count } from '../../../front/http/page/format.ts'
import { html } from '../../../front/http/page/html.ts'
import { table, type Column } from './page-parts.ts'

/** The rows that a long table has at first. */
const firstRows = 20

type Props<Row> = Readonly<{
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf?: (row: Row) => string
}>

/** A table that begins with its first rows, and says how many there are. */
export function FirstRows<Row>({ caption, columns, rows, keyOf }: Props<Row>) {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? rows : rows.slice(0, firstRows)
  const isCut = shown.length < rows.length
  const said = isCut ? `${caption}: the first ${firstRows} of ${count(rows.length)}` : caption
  return html`
    ${table(said, columns, shown, keyOf)}
    ${isCut && html`<p><button type="button" onClick=${() => setWhole(true)}>Show all ${count(rows.length)}</button></p>`}
  `
}
