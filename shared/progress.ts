/** A terminal, or a file that somebody may read later. */
export type Screen = { write(text: string): unknown; isTTY?: boolean; columns?: number }

const barWidth = 30

/** How often a terminal is drawn where nobody knows how much there is, and how often a file gets a line. */
const drawEveryMs = 100
const lineEveryMs = 10_000

/**
 * Tells how far a count has come: on a terminal in place, with a bar where the total is known; else by a line every
 * ten seconds, and one at the end.
 */
export function progressBar(
  screen: Screen,
  label: string,
  total: number | undefined,
  ticks: () => number = () => performance.now(),
): (done: number) => void {
  const isTerminal = screen.isTTY ?? false
  let drawn = -1
  let toldAtMs = isTerminal ? -Infinity : ticks()
  return (done) => {
    const finished = total !== undefined && done >= total
    const percent = Math.floor((done / Math.max(total ?? 0, 1)) * 100)
    const everyMs = isTerminal ? drawEveryMs : lineEveryMs
    const isDue =
      isTerminal && total !== undefined ? percent !== drawn : ticks() - toldAtMs >= everyMs
    if (!isDue && !finished) return
    drawn = percent
    toldAtMs = ticks()
    const all = total === undefined ? '' : ` of ${total.toLocaleString('en')}`
    const count = `${done.toLocaleString('en')}${all}`
    if (!isTerminal) screen.write(`${label}: ${count}\n`)
    else if (total === undefined) screen.write(`\r${label} ${count}`)
    else {
      const full = Math.round((percent / 100) * barWidth)
      const bar = '█'.repeat(full) + '░'.repeat(barWidth - full)
      screen.write(`\r${label} ${bar} ${percent}% ${count}${finished ? '\n' : ''}`)
    }
  }
}
