/** A terminal, or a file that somebody may read later. */
export type Screen = { write(text: string): unknown; isTTY?: boolean; columns?: number }

const barWidth = 30

/** Draws how far a count has come: a bar in place on a terminal, else nothing until the end. */
export function progressBar(screen: Screen, label: string, total: number): (done: number) => void {
  let drawn = -1
  return (done) => {
    const percent = Math.floor((done / Math.max(total, 1)) * 100)
    const finished = done >= total
    if (percent === drawn && !finished) return
    drawn = percent
    const count = `${done.toLocaleString('en')} of ${total.toLocaleString('en')}`
    if (!screen.isTTY) {
      if (finished) screen.write(`${label}: ${count}\n`)
      return
    }
    const full = Math.round((percent / 100) * barWidth)
    const bar = '█'.repeat(full) + '░'.repeat(barWidth - full)
    screen.write(`\r${label} ${bar} ${percent}% ${count}${finished ? '\n' : ''}`)
  }
}
