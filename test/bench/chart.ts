import type { Row } from './measure.ts'

const [width, left, bar, gap, top] = [900, 390, 20, 8, 54]

/** The rows as bars of processor time a request, for the README. */
export function chart(rows: readonly Row[], title: string, about: string): string {
  const longest = Math.max(...rows.map(({ ratio }) => ratio))
  const scale = (width - left - 130) / longest
  const height = top + rows.length * (bar + gap) + 12
  const reference = left + scale
  const bars = rows.map(({ name, cpuMicros, ratio }, i) => {
    const y = top + i * (bar + gap)
    const length = (ratio * scale).toFixed(1)
    const middle = y + bar / 2 + 4
    const colour = name.startsWith('Tollgate') ? '#2a6f97' : '#adb5bd'
    const label = `${ratio.toFixed(2)} (${cpuMicros.toFixed(0)} µs)`
    return `<text x="${left - 8}" y="${middle}" text-anchor="end">${escaped(name)}</text>
<rect x="${left}" y="${y}" width="${length}" height="${bar}" fill="${colour}"/>
<text x="${(left + ratio * scale + 6).toFixed(1)}" y="${middle}">${label}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<rect width="${width}" height="${height}" fill="#ffffff"/>
<text x="12" y="20" font-size="14" font-weight="bold">${escaped(title)}</text>
<text x="12" y="38" fill="#495057">${escaped(about)}</text>
${bars.join('\n')}
<line x1="${reference.toFixed(1)}" x2="${reference.toFixed(1)}" y1="${top - 6}" y2="${height - 8}" stroke="#c1121f" stroke-dasharray="4 3"/>
</svg>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
