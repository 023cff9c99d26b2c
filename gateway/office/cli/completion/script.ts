import { version } from '../../../../shared/version.ts'
import type { Shell } from '../../operations/shells.ts'
import type { Operation } from '../../operations/operation.ts'
import { bash } from './bash.ts'
import type { Dialect } from './dialect.ts'
import { fish } from './fish.ts'
import { tableOf, type Table } from './table.ts'
import { zsh } from './zsh.ts'

const dialects: Readonly<Record<Shell, Dialect>> = { bash, zsh, fish }

/** The script by which a shell completes commands. */
export function scriptFor(shell: Shell, operations: readonly Operation[]): string {
  const { script } = dialects[shell]
  const about = `# Completes the commands of tollgate ${version()} in ${shell}.`
  return `${about}\n${script(branchesOf(tableOf(operations), dialects[shell]))}`
}

/** A case for each list of offers, with all places that have it. */
function branchesOf(table: Table, { quoted, textOf, branch }: Dialect): string {
  const placesByTexts = new Map<string, Readonly<{ places: string[]; texts: string[] }>>()
  for (const [place, offers] of table) {
    const texts = offers.map((offer) => quoted(textOf(offer)))
    const key = texts.join(' ')
    const entry = placesByTexts.get(key)
    if (entry) entry.places.push(quoted(place))
    else placesByTexts.set(key, { places: [quoted(place)], texts })
  }
  return [...placesByTexts.values()].map(({ places, texts }) => branch(places, texts)).join('\n')
}
