import { drawn, type Bar } from './chart.ts'
import type { LatencyRow } from './latency.ts'
import { sumOf, type Profile } from './profile.ts'
import type { Row } from './rows.ts'
import { whole } from './tables.ts'

/** The picture of a part's results, for the README; `undefined` for a part without one. */
export function pictureOf(part: string, results: unknown, about: string): string | undefined {
  if (part === 'proxy') return proxyPicture(results as readonly Row[], about)
  if (part === 'latency') return latencyPicture(results as readonly LatencyRow[], about)
  if (part === 'profile') return profilePicture(results as readonly Profile[], about)
  return undefined
}

/** CPU time a request of all that stands in between, for the README. */
export function proxyPicture(rows: readonly Row[], about: string): string {
  const [{ togetherMicros: base = NaN } = {}] = rows
  const shown = rows.filter(({ isVariant }) => !isVariant)
  const bars = shown.map((row): Bar & { status: number } => ({
    name: row.name.replace(': the reference', ''),
    isOurs: isOurs(row.name),
    value: row.togetherRatio,
    lighter: row.redisMicros / base,
    figure: row.togetherRatio.toFixed(2),
    note: row.lacks && `lacks ${row.lacks}`,
    status: row.status,
  }))
  return drawn({
    title: 'CPU time per request, compared with a plain Fastify proxy without keys and limits',
    about: `Second part of a bar: Redis. ${about}`,
    groups: [
      { title: 'Forwarded', bars: bars.filter(({ status }) => status === 200) },
      { title: 'Refused', bars: bars.filter(({ status }) => status !== 200) },
    ],
    mark: { value: 1, word: 'bare proxy' },
    longest: 2,
  })
}

/** The latency that each adds to a direct call, for the README. */
export function latencyPicture(rows: readonly LatencyRow[], about: string): string {
  const ours = rows.filter(({ name }) => isOurs(name))
  const levels = [...new Set(rows.map(({ level }) => level))]
  const barOf = ({ name, added: { p50Ms, p99Ms, p999Ms }, perSecond }: LatencyRow): Bar => ({
    name: name.replace(': the reference', ''),
    isOurs: isOurs(name),
    value: Math.max(p99Ms, 0),
    lighter: Math.max(p99Ms - Math.max(p50Ms, 0), 0),
    figure: p99Ms.toFixed(2),
    note: `p50 ${p50Ms.toFixed(2)}, p99.9 ${p999Ms.toFixed(2)}; at ${whole(perSecond)} requests/s`,
  })
  return drawn({
    title: 'Milliseconds added to a direct call, at a steady rate: p99',
    about: `First part of a bar: p50. ${about}`,
    groups: levels.map((level) => ({
      title: `At ${level * 100} % of what each can take`,
      bars: rows.filter((row) => row.level === level).map(barOf),
    })),
    longest: 1.25 * Math.max(...ours.map(({ added }) => added.p99Ms)),
  })
}

/** Where the time of a request goes, for the README. */
export function profilePicture(profiles: readonly Profile[], about: string): string {
  const barOf = ([part, micros]: Profile['parts'][number], all: number): Bar => ({
    name: part,
    isOurs: isOurs(part),
    value: micros / all,
    lighter: 0,
    figure: `${((micros / all) * 100).toFixed(0)} %`,
    note: `${micros.toFixed(1)} µs`,
  })
  return drawn({
    title: 'Where the time of a request goes, in the thread that answers it',
    about,
    groups: profiles.map(({ name, parts }) => ({
      title: `${name}: ${sumOf(parts).toFixed(1)} µs`,
      bars: parts.map((part) => barOf(part, sumOf(parts))),
    })),
    longest: 0.5,
  })
}

/** Whether a contestant is Tollgate. */
function isOurs(name: string): boolean {
  return name.startsWith('Tollgate')
}
