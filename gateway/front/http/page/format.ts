import { utc } from './utc.ts'

/** A number with separators, such as `1,204`. */
export function count(number: number): string {
  return number.toLocaleString('en')
}

/** A time of a day in UTC, such as `12:01:00`. */
export function clock(iso: string): string {
  return iso.slice(11, 19)
}

/** A day in UTC, or a time that isn't midnight. */
export function date(iso: string): string {
  return iso.endsWith('T00:00:00.000Z') ? iso.slice(0, 10) : utc(iso)
}

/** A length of time in words. */
export function duration(ms: number): string {
  const units = [
    [86_400_000, 'day'],
    [3_600_000, 'hour'],
    [60_000, 'minute'],
    [1_000, 'second'],
  ] as const
  const [size, name] = units.find(([size]) => ms >= size && ms % size === 0) ?? [1, 'millisecond']
  return `${count(ms / size)} ${name}${ms === size ? '' : 's'}`
}

export function plural(number: number, word: string): string {
  return `${count(number)} ${word}${number === 1 ? '' : 's'}`
}

/** What a request costs, by its route: points, or an estimate if its answer tells them. */
export function costText(
  points: number,
  byAnswer?: Readonly<{ atMost?: number | undefined }>,
): string {
  if (!byAnswer) return points === 0 ? 'nothing' : plural(points, 'point')
  const most = byAnswer.atMost === undefined ? '' : `, at most ${count(byAnswer.atMost)}`
  return `what its answer tells (an estimate of ${plural(points, 'point')} until then${most})`
}

type Requests = Readonly<{
  methods?: readonly string[] | null | undefined
  paths?: readonly string[] | null | undefined
}>

/** The requests of some methods and paths, such as "POST at /v1/exports, /v1/exports/*"; empty for all. */
export function requestsText({ methods, paths }: Requests): string {
  return [methods?.join(', '), paths?.join(', ')].filter(Boolean).join(' at ')
}

/** The message of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
