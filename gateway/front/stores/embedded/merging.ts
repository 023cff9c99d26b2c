/** How the numbers of a row are merged with those of another one: by column. */
export type Merging = Readonly<Record<string, 'sum' | 'max' | 'latest'>>

/** The end of an INSERT that adds a row to the one that is stored. */
export function adding(merging: Merging): string {
  return onConflict(merging, (column, how) => {
    if (how === 'sum') return `${column} + excluded.${column}`
    return how === 'max' ? `max(${column}, excluded.${column})` : `excluded.${column}`
  })
}

/** The end of an INSERT that copies a row from another store: the larger numbers win, so that it may be repeated. */
export function raising(merging: Merging): string {
  return onConflict(merging, (column) => `max(${column}, excluded.${column})`)
}

function onConflict(
  merging: Merging,
  merged: (column: string, how: Merging[string]) => string,
): string {
  const all = Object.entries(merging).map(([name, how]) => {
    const column = `"${name}"`
    return `${column} = ${merged(column, how)}`
  })
  return `ON CONFLICT DO UPDATE SET ${all.join(', ')}`
}
