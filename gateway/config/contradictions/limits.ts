import type { Path } from '../document.ts'
import { list, mistake, section, warning, type Quote, type Saying, type Section } from './saying.ts'

/** A minute that may be larger than its day never matters. */
export function* limitSayings(file: Section, quote: Quote): Generator<Saying> {
  const places: [Path, Section][] = Object.entries(section(file['plans'])).map(([name, plan]) => [
    ['plans', name],
    section(plan),
  ])
  const strangers = { perMinute: 60, perDay: 1_000, ...section(file['strangers']) }
  for (const [place, { perMinute, perDay }] of [
    ...places,
    [['strangers'], strangers] as [Path, Section],
  ]) {
    const isNever =
      typeof perDay === 'number' && (perMinute === 'unlimited' || Number(perMinute) > perDay)
    if (!isNever) continue
    const written = quote([...place, 'perDay']) || perDay
    yield warning([...place, 'perMinute'], `is never reached: perDay is ${written}`)
  }
}

/** A section that is indented by mistake may pass for a plan. */
export function* planSayings(file: Section, sections: readonly string[]): Generator<Saying> {
  for (const name of Object.keys(section(file['plans']))) {
    if (!sections.includes(name)) continue
    const sentence = `is a plan with the name of a section; if the section is meant, indent it as far as plans`
    yield warning(['plans', name], sentence)
  }
}

/** What a request costs must be within what somebody has. */
export function* costSayings(file: Section, quote: Quote): Generator<Saying> {
  const plans = Object.entries(section(file['plans'])).map(([name, plan]) => ({
    name,
    ...leastOf(section(plan)),
  }))
  if (plans.length === 0) return
  for (const [i, route] of list(file['routes']).entries()) {
    const { cost } = section(route)
    if (typeof cost !== 'number') continue
    const poor = plans.filter(({ points }) => points < cost)
    const told = poor.map(({ name, window, points }) => {
      const limit = window === 'day' ? 'perDay' : 'perMinute'
      return `${name} has ${quote(['plans', name, limit]) || points} a ${window}`
    })
    const place = ['routes', i, 'cost'] as const
    if (poor.length === plans.length) {
      yield mistake(place, `is more than any plan allows: ${told.join(', ')}`)
    } else if (poor.length > 0) {
      yield warning(place, `is more than some plans allow, whose keys get 403: ${told.join(', ')}`)
    }
  }
}

/** The window of a plan that allows least; of one that isn't known, or that each key has its own of, nothing is said. */
function leastOf({ perMinute, perDay }: Section): { window: string; points: number } {
  const [minute, day] = [perMinute, perDay].map((limit) =>
    typeof limit === 'number' ? limit : Infinity,
  )
  return day !== undefined && minute !== undefined && day < minute
    ? { window: 'day', points: day }
    : { window: 'minute', points: minute ?? Infinity }
}
