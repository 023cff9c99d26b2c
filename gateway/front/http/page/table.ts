import { html, type Child } from './html.ts'

export type Column<Row> = Readonly<{
  name: Child
  cell: (row: Row) => Child
  isNumber?: boolean
  /** Whether its cells name their rows. */
  isHead?: boolean
  /** The order of the rows by it, if they are sorted by it. */
  order?: 'ascending' | 'descending' | undefined
}>

/** A column of texts. */
export function column<Row>(name: Child, cell: (row: Row) => Child): Column<Row> {
  return { name, cell }
}

/** A column of numbers. */
export function numeric<Row>(name: Child, cell: (row: Row) => Child): Column<Row> {
  return { name, isNumber: true, cell }
}

/** A column of the rows' names. */
export function heading<Row>(name: Child, cell: (row: Row) => Child): Column<Row> {
  return { name, isHead: true, cell }
}

/**
 * A real table. On narrow screens it scrolls by itself, by keyboard too; a tall one also up and down. A bare one shows no
 * caption.
 */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  keyOf: (row: Row, index: number) => string | number = (_row, index) => index,
  look: 'tall' | 'bare' | '' = '',
): Child {
  const cellOf = ({ cell, isHead, isNumber }: Column<Row>, row: Row): Child => {
    if (isHead) return html`<th scope="row">${cell(row)}</th>`
    return html`<td class=${isNumber ? 'number' : ''}>${cell(row)}</td>`
  }
  return html`
    <div class=${`scroll ${look}`} tabindex="0" role="region" aria-label=${caption}>
      <table>
        ${
          look !== 'bare' &&
          html`<caption>
            ${caption}
          </caption>`
        }
        <thead>
          <tr>
            ${columns.map(({ name, isNumber, order }) => html`<th scope="col" class=${isNumber ? 'number' : ''} aria-sort=${order}>${name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row, index) => html`
              <tr key=${keyOf(row, index)}>
                ${columns.map((each) => cellOf(each, row))}
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `
}
