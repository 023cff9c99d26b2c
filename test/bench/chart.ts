/** One bar: two parts, the second in a lighter colour, and what is said beside it. */
export type Bar = Readonly<{
  name: string
  isOurs: boolean
  value: number
  /** The part of the value that is in the lighter colour. */
  lighter: number
  figure: string
  note: string
}>

export type Group = Readonly<{ title: string; bars: readonly Bar[] }>

export type Chart = Readonly<{
  title: string
  about: string
  groups: readonly Group[]
  /** The value at which all bars have a mark, and its word. */
  mark?: Readonly<{ value: number; word: string }>
  /** Bars over this value are cut off, and show it. */
  longest: number
}>

const width = 1040
const names = { end: 336 }
const bars = { from: 346, to: 576, height: 16 }
const figures = { end: 634 }
const notes = { from: 648, letters: 58, lineHeight: 13 }
const rowHeight = 32

// Colours for bright and for dark readers, each with its ground: a page may be dark where its reader's system isn't.
const style = `
  .ground { fill: #fff }
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .group { font-weight: 600 }
  .note { font-size: 11px }
  .quiet, .note { fill: #59636e }
  .figure { font-variant-numeric: tabular-nums }
  .ours.figure, .ours.name { font-weight: 600 }
  rect.ours { fill: #1f77c9 }
  rect.theirs { fill: #99a1ab }
  .lighter { opacity: 0.5 }
  .mark { stroke: #59636e; stroke-dasharray: 2 3 }
  .cut { stroke: #99a1ab; stroke-width: 2; fill: none }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 }
    text { fill: #f0f6fc }
    .quiet, .note { fill: #9198a1 }
    rect.ours { fill: #4aa3f0 }
    rect.theirs { fill: #6e7681 }
    .mark { stroke: #9198a1 }
    .cut { stroke: #6e7681 }
  }`

/** Groups of bars as a picture; in each the lowest value is first. */
export function drawn({ title, about, groups, mark, longest }: Chart): string {
  const scale = (bars.to - bars.from) / longest
  const parts: string[] = []
  let y = 66
  for (const group of groups) {
    parts.push(text('group', 12, y, group.title))
    const top = y + 8
    if (mark) parts.push(text('note', bars.from + mark.value * scale, y, mark.word, 'middle'))
    const sorted = group.bars.toSorted((a, b) => a.value - b.value)
    sorted.forEach((bar, i) => parts.push(row(bar, top + i * rowHeight, scale, longest)))
    y = top + sorted.length * rowHeight
    if (mark) parts.push(line(bars.from + mark.value * scale, top, y))
    y += 34
  }
  const height = y - 20
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
<style>${style}
</style>
<rect class="ground" width="${width}" height="${height}" rx="6"/>
${text('title', 12, 22, title)}
${text('note', 12, 40, about)}
${parts.join('\n')}
</svg>
`
}

function row(bar: Bar, top: number, scale: number, longest: number): string {
  const whose = bar.isOurs ? 'ours' : 'theirs'
  const middle = top + rowHeight / 2
  const y = middle - bars.height / 2
  const shown = Math.min(bar.value, longest)
  const solid = Math.min(bar.value - bar.lighter, shown)
  const end = bars.from + shown * scale
  const rect = (className: string, from: number, value: number): string =>
    `<rect class="${className}" x="${from.toFixed(1)}" y="${y}" width="${(value * scale).toFixed(1)}" height="${bars.height}"/>`
  const lines = wrapped(bar.note, notes.letters)
  const first = middle + 4 - ((lines.length - 1) * notes.lineHeight) / 2
  return [
    text(`name ${whose}`, names.end, middle + 4.5, bar.name, 'end'),
    rect(whose, bars.from, Math.max(solid, 0)),
    ...(shown > solid ? [rect(`${whose} lighter`, bars.from + solid * scale, shown - solid)] : []),
    ...(bar.value > longest ? [`<path class="cut" d="M${end + 2} ${y - 2}l4 10l-4 2l4 10"/>`] : []),
    text(`figure ${whose}`, figures.end, middle + 4.5, bar.figure, 'end'),
    ...lines.map((each, i) => text('note', notes.from, first + i * notes.lineHeight, each)),
  ].join('\n')
}

function line(x: number, from: number, to: number): string {
  return `<line class="mark" x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${from}" y2="${to}"/>`
}

function text(className: string, x: number, y: number, words: string, anchor?: string): string {
  const side = anchor ? ` text-anchor="${anchor}"` : ''
  return `<text class="${className}" x="${x.toFixed(1)}" y="${y.toFixed(1)}"${side}>${escaped(words)}</text>`
}

/** A text in lines of at most some letters; a longer word has a line of its own. */
function wrapped(words: string, letters: number): string[] {
  const lines: string[] = []
  for (const word of words.split(' ').filter(Boolean)) {
    const last = lines.at(-1)
    if (last === undefined || last.length + word.length >= letters) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
