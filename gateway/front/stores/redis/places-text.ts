import {
  crowded,
  nameOfPart,
  partsWithPlaces,
  type PlaceAsk,
  type PlaceState,
  type PlacesTold,
} from '../../limits/places.ts'
import type { TakenPlaces } from '../../limits/places.ts'
import type { Ask } from '../../limits/step.ts'

/** The places of a question as quota-more.lua takes them. */
export function packedPlaces({ limits, parts }: Ask, ask: PlaceAsk): string {
  const limited = partsWithPlaces(limits, parts).map(({ part, limit }) => {
    const name = nameOfPart(part)
    return `&${name}=${limit},${ask.held.get(name) ?? 0}`
  })
  const gone = ask.gone.map((gateway) => `${gateway},`).join('')
  return `${ask.by},${ask.number},${ask.settled},${ask.isLook ? 0 : 1};${gone};${limited.join('')}`
}

/** The places that its answer tells: "taken,taken,|gateway,gateway,", the gateways where one part has no room. */
export function placesFrom(
  text: string,
  { limits, parts }: Ask,
  isCrowded: boolean,
): readonly PlaceState[] {
  const [taken = '', gateways = ''] = text.split('|')
  const counts = taken.split(',').map(Number)
  const states = partsWithPlaces(limits, parts).map(({ part, limit }, i): PlaceState => {
    return { part, limit, used: counts[i] ?? 0, holders: undefined }
  })
  const full = isCrowded ? crowded(states) : undefined
  const holders = gateways.split(',').slice(0, -1)
  return states.map((state) => (state === full ? { ...state, holders } : state))
}

/** A report as places-tell.lua takes it. */
export function packedReport({ by, number, settled, held }: PlacesTold): string {
  const parts = [...held].map(([name, count]) => `&${name}=${count}`)
  return `${by},${number},${settled};${parts.join('')}`
}

/** The fields of a quota's hash that tell of places. */
export function takenFrom(fields: Readonly<Record<string, string>>): TakenPlaces[] {
  return Object.entries(fields).flatMap(([field, text]) => {
    if (!field.startsWith('at:')) return []
    const holders = [...text.matchAll(/([^,;]+),\d+,\d+,(\d+),(\d+),([\d.]*);/g)]
    return holders.flatMap(([, gateway = '', held, sinceMs, later = '']) => {
      const taken = Number(held) + later.split('.').length - 1
      return taken === 0 ? [] : [{ gateway, part: field.slice(3), taken, sinceMs: Number(sinceMs) }]
    })
  })
}
