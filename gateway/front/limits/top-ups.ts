/** Points that an operator has added to those that a quota has bought; below 0, a correction took some. */
export type TopUp = Readonly<{
  /** Its name, by which it counts once. */
  id: string
  points: number
  atMs: number
  /** The bought points that were left since. */
  left: number
  by: string
  note?: string | undefined
}>

export type NewTopUp = Omit<TopUp, 'atMs' | 'left'>

/**
 * `done`; `again`: it was done before, as told; `other`: its id was one of other points; `short`: fewer points are left than it
 * takes.
 */
export type TopUpOutcome =
  | Readonly<{ outcome: 'done' | 'again' | 'other'; topUp: TopUp }>
  | Readonly<{ outcome: 'short'; left: number }>

/** The most top-ups of a quota whose ids are kept. */
export const mostTopUps = 1_000

/** The most points of a top-up: many of them, and an answer's difference, are still exact. */
export const mostBought = 999_999_999_999

/** The form of an id. */
export const topUpIdPattern = '^[\\x21-\\x7e]{1,64}$'

/** A top-up as a line of text, which stores keep. */
export function lineOfTopUp({ id, points, atMs, left, by, note }: TopUp): string {
  return `${id}\t${points}\t${atMs}\t${left}\t${JSON.stringify({ by, note })}\n`
}

/** The top-ups of lines, the oldest first; damaged ones are left out. */
export function topUpsOf(lines: string): TopUp[] {
  return lines.split('\n').flatMap((line) => {
    const [id = '', points, atMs, left, words = ''] = line.split('\t')
    try {
      const { by, note } = JSON.parse(words) as Pick<TopUp, 'by' | 'note'>
      return [{ id, points: Number(points), atMs: Number(atMs), left: Number(left), by, note }]
    } catch {
      return []
    }
  })
}

/** What a top-up does beside those that were made. */
export function outcomeOf(
  lines: string,
  given: NewTopUp,
  left: number,
  nowMs: number,
): TopUpOutcome {
  const { id, points } = given
  const before = topUpsOf(lines).find((each) => each.id === id)
  if (before) return { outcome: before.points === points ? 'again' : 'other', topUp: before }
  if (points < 0 && left + points < 0) return { outcome: 'short', left }
  return { outcome: 'done', topUp: { ...given, atMs: nowMs, left: left + points } }
}

/** Lines with one more, of which the newest are kept. */
export function withTopUp(lines: string, topUp: TopUp): string {
  const all = [...lines.split('\n').slice(0, -1), lineOfTopUp(topUp).slice(0, -1)]
  return all
    .slice(-mostTopUps)
    .map((line) => `${line}\n`)
    .join('')
}
