import { withCommas } from './commas.ts'

/** A terminal, a file, or a pipe. */
export type Screen = {
  write(text: string): unknown
  isTTY?: boolean
  /** Whether its reader has gone. */
  isLeft?: () => boolean
}

const barWidth = 30

/** The time between two updates of a terminal without a known total, and between two lines in a file. */
const drawEveryMs = 100
const lineEveryMs = 10_000

/**
 * Shows progress: on a terminal in place, with a bar if the total is known; in a file by a line every ten seconds and
 * one at the end.
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
    const all = total === undefined ? '' : ` of ${withCommas(total)}`
    const count = `${withCommas(done)}${all}`
    if (!isTerminal) screen.write(`${label}: ${count}\n`)
    else if (total === undefined) screen.write(`\r${label} ${count}`)
    else {
      const full = Math.round((percent / 100) * barWidth)
      const bar = '█'.repeat(full) + '░'.repeat(barWidth - full)
      screen.write(`\r${label} ${bar} ${percent}% ${count}${finished ? '\n' : ''}`)
    }
  }
}
