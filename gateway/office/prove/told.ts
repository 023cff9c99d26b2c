import type { IncomingHttpHeaders } from 'node:http'

/** What the headers of an answer tell of one limit: `reset` is in seconds from then on, or a Unix second. */
export type Told = Readonly<{ limit: number; remaining: number; reset: number }>

type Source = (name: keyof Told) => unknown

/** The limit that headers tell: of several the one that is meant, else the first; `undefined` without any. */
export function toldIn(headers: IncomingHttpHeaders, limit: number): Told | undefined {
  const inThree = (beginning: string): Source => {
    return (name) => headers[`${beginning}-${name}`]
  }
  const policies = itemsIn(headers['ratelimit-policy'])
  const items = itemsIn(headers['ratelimit'])
  // The former form is `limit=60, remaining=59, reset=37`, that of today `"minute";r=59;t=37`, with a policy.
  const former = new Map(items.flatMap((item) => [...item]))
  const present = items.map((item): Source => {
    const policy = policies.find((each) => each.has([...item.keys()][0] ?? ''))
    const members = { limit: policy?.get('q'), remaining: item.get('r'), reset: item.get('t') }
    return (name) => members[name]
  })
  const sources = [
    inThree('x-ratelimit'),
    ...present,
    (name: string) => former.get(name),
    inThree('ratelimit'),
  ]
  const all = sources.map((source: Source) => {
    const of = (name: keyof Told): number => Number.parseInt(String(source(name)), 10)
    return { limit: of('limit') || limit, remaining: of('remaining'), reset: of('reset') }
  })
  const readable = all.filter(({ remaining }) => !Number.isNaN(remaining))
  return readable.find((each) => each.limit === limit) ?? readable[0]
}

/** The items of a list, each with its name and its parameters. */
function itemsIn(field: unknown): ReadonlyMap<string, string | undefined>[] {
  const items = typeof field === 'string' ? field.split(',') : []
  return items.map((item) => {
    const parts = item.split(';').map((part) => part.trim().split('=', 2))
    return new Map(parts.map(([name = '', value]) => [name, value]))
  })
}

/** An answer that was let in, or refused with 429. Times are of this machine, and never go back. */
export type Answer = Readonly<{
  sentMs: number
  answeredMs: number
  isAdmitted: boolean
  told: Told | undefined
  /** `Retry-After`, in milliseconds. */
  waitMs: number | undefined
}>

type Telling = Answer & Readonly<{ told: Told }>

/** The answers that tell this limit; of refused ones all that tell any. */
export function tellingOf(answers: readonly Answer[], limit: number): Telling[] {
  return answers.flatMap(({ told, ...each }) =>
    told && (told.limit === limit || !each.isAdmitted) ? [{ ...each, told }] : [],
  )
}

/** The first thing in the headers of one window that doesn't fit; `undefined` where all fit. */
export function headerFault(answers: readonly Telling[], limit: number): string | undefined {
  for (const { isAdmitted, told } of answers) {
    if (isAdmitted || (told.limit === limit && told.remaining === 0)) continue
    return `a 429 tells ${told.remaining} remaining of ${told.limit}`
  }
  const admitted = answers.filter(({ isAdmitted }) => isAdmitted)
  const byAnswer = admitted.toSorted((a, b) => a.answeredMs - b.answeredMs)
  let [least, i] = [limit, 0]
  for (const { sentMs, told } of admitted.toSorted((a, b) => a.sentMs - b.sentMs)) {
    for (let each; (each = byAnswer[i]) && each.answeredMs < sentMs; i++) {
      least = Math.min(least, each.told.remaining)
    }
    if (told.remaining >= least) return `${told.remaining} remaining are told behind ${least}`
  }
  const last = Math.min(...admitted.map(({ told }) => told.remaining))
  if (admitted.length === limit && last !== 0) return `the last one tells ${last} remaining`
  return resetFault(answers)
}

/** All answers of a window must tell the same end; seconds from now on are rounded, and take their time to come. */
function resetFault(answers: readonly Telling[]): string | undefined {
  const ends = answers.map(({ told: { reset }, answeredMs }) => {
    return isUnix(reset) ? reset : answeredMs / 1_000 + reset
  })
  const longestMs = Math.max(...answers.map(({ sentMs, answeredMs }) => answeredMs - sentMs))
  const mayDiffer = answers.some(({ told }) => isUnix(told.reset)) ? 0 : 1 + longestMs / 1_000
  const spread = Math.max(...ends) - Math.min(...ends)
  return spread > mayDiffer ? `the ends that are told differ by ${spread.toFixed(1)} s` : undefined
}

function isUnix(reset: number): boolean {
  return reset > 1e9
}
