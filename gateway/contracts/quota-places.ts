import assert from 'node:assert/strict'
import fc from 'fast-check'
import { capPart, operationPart } from '../front/limits/parts.ts'
import type { PlaceAsk } from '../front/limits/places.ts'
import type { Ask } from '../front/limits/step.ts'
import { dayMs, minuteMs } from '../../shared/windows.ts'
import { rules, start, type Declare, type TriedStore } from './tried-quotas.ts'
import { match } from './contract.ts'

const unlimited = { perMinute: Infinity, perDay: Infinity }

/** A question of a gateway that knows of nothing under way, but for what is said. */
function place(by: string, number: number, more: Partial<PlaceAsk> = {}): PlaceAsk {
  return { by, number, settled: 0, held: new Map(), gone: [], ...more }
}

function held(count: number, part = ''): Pick<PlaceAsk, 'held'> {
  return { held: new Map([[part, count]]) }
}

/** The part of the contract of `QuotaStore` about requests under way. */
export function placesContract(test: Declare, tried: TriedStore, stories: number): void {
  const { setTime, newName, ask } = tried
  const limits = { ...unlimited, atOnce: 2 }
  const seen = async (quota: string, more: Partial<Ask>) => {
    const { verdict, places } = await ask(quota, { limits, ...more })
    return [verdict, ...(places ?? []).map(({ used }) => used)].join(' ')
  }

  test('a request takes a place until its gateway tells that it is over', async () => {
    const quota = newName()
    setTime(start)
    assert.equal(await seen(quota, { place: place('a', 1) }), 'admitted 1')
    assert.equal(await seen(quota, { place: place('b', 1) }), 'admitted 2')
    const full = await ask(quota, { limits, place: place('b', 2, { settled: 1, ...held(1) }) })
    match(full, { verdict: 'crowded', dayUsed: 2, strikes: 0 }, 'and is counted in no window')
    match(full.places, [{ limit: 2, used: 2, holders: ['a', 'b'] }])
    match(await ask(quota, { limits: unlimited }), { verdict: 'admitted', places: undefined })
    const taken = (await tried.store.places(quota)).map(({ gateway, taken }) => [gateway, taken])
    assert.deepEqual(taken.sort(), [
      ['a', 1],
      ['b', 1],
    ])
    await tried.store.tellPlaces([{ quota, told: place('a', 2, { settled: 1, ...held(0) }) }])
    assert.equal(
      await seen(quota, { place: place('b', 3, { settled: 2, ...held(1) }) }),
      'admitted 2',
    )
    const look = place('', 0, { isLook: true })
    assert.equal(await seen(quota, { cost: 0, place: look }), 'admitted 2', 'who looks takes none')
  })

  test('a message that is repeated or late changes nothing', async () => {
    const quota = newName()
    setTime(start)
    await ask(quota, { limits, place: place('a', 5) })
    assert.equal(
      await seen(quota, { place: place('a', 5) }),
      'admitted 1',
      'the same question again',
    )
    await tried.store.tellPlaces([{ quota, told: place('a', 7, { settled: 6, ...held(1) }) }])
    await tried.store.tellPlaces([{ quota, told: place('a', 6, { settled: 5, ...held(0) }) }])
    assert.equal(
      await seen(quota, { place: place('b', 1) }),
      'admitted 2',
      'the later report stands',
    )
    await tried.store.tellPlaces([{ quota, told: place('a', 9, { settled: 8, ...held(0) }) }])
    assert.equal(await seen(quota, { place: place('a', 8) }), 'admitted 1', 'one that was given up')
    assert.equal(await seen(quota, { place: place('a', 10, { settled: 8 }) }), 'admitted 2')
  })

  test('questions that overtake their answers each take a place', async () => {
    const quota = newName()
    setTime(start)
    assert.equal(await seen(quota, { place: place('a', 1) }), 'admitted 1')
    assert.equal(await seen(quota, { place: place('a', 2) }), 'admitted 2')
    assert.equal(await seen(quota, { place: place('a', 3) }), 'crowded 2')
    assert.equal(
      await seen(quota, { place: place('a', 4, { settled: 3, ...held(1) }) }),
      'admitted 2',
    )
  })

  test('places of gateways that are gone are free, and theirs again if they wake', async () => {
    const quota = newName()
    setTime(start)
    for (const number of [1, 2]) await ask(quota, { limits, place: place('a', number) })
    assert.equal(await seen(quota, { place: place('b', 1) }), 'crowded 2')
    assert.equal(await seen(quota, { place: place('b', 2, { gone: ['c', 'a'] }) }), 'admitted 1')
    assert.equal(
      await seen(quota, { place: place('b', 3, { gone: ['b'] }) }),
      'admitted 2',
      'itself',
    )
    await tried.store.tellPlaces([{ quota, told: place('a', 3, { settled: 2, ...held(2) }) }])
    match(await ask(quota, { limits, place: place('b', 4) }), {
      verdict: 'crowded',
      places: [{ used: 4 }],
    })
    await tried.store.freePlaces(quota)
    assert.deepEqual(await tried.store.places(quota), [])
    assert.equal(
      await seen(quota, { place: place('b', 5, { settled: 4, ...held(1) }) }),
      'admitted 2',
    )
  })

  test('a request takes a place in each part that limits them, or in none', async () => {
    const quota = newName()
    setTime(start)
    const operation = operationPart('exports', { ...unlimited, atOnce: 1 })
    const parts = [operation, capPart('k', 1, { ...unlimited, perDay: 9 })]
    assert.equal(await seen(quota, { parts, place: place('a', 1) }), 'admitted 1 1')
    const full = await ask(quota, { limits, parts, place: place('a', 2) })
    match(full, { verdict: 'crowded', parts: [{}, {}] })
    match(full.places, [
      { part: undefined, used: 1, holders: undefined },
      { part: operation, used: 1, holders: ['a'] },
    ])
    assert.equal(await seen(quota, { place: place('a', 3) }), 'admitted 2')
    await tried.store.tellPlaces([
      { quota, told: { ...place('a', 4), settled: 3, ...held(0, 'op:exports') } },
    ])
    const places = (await tried.store.places(quota)).map(({ part, taken }) => [part, taken])
    assert.deepEqual(places, [['', 2]])
  })

  test('a ban and a full window are told before, and no refusal takes a place', async () => {
    const quota = newName()
    setTime(start)
    const minute = { perMinute: 1, perDay: 9, atOnce: 1 }
    const asked = (number: number) =>
      ask(quota, { limits: minute, bans: rules, place: place('a', number) })
    match(await asked(1), { verdict: 'admitted' })
    match(await asked(2), { verdict: 'refused', places: [{ used: 1 }] })
    setTime(start + minuteMs)
    match(await asked(3), { verdict: 'crowded', strikes: 0, places: [{ used: 1 }] })
    await tried.store.ban(quota, 'k', start + dayMs)
    match(await asked(4), { verdict: 'banned', places: [{ used: 1 }] })
    await tried.store.lift(quota, 'k')
    await tried.store.tellPlaces([{ quota, told: { ...place('a', 5), settled: 4, ...held(0) } }])
    match(await asked(6), { verdict: 'admitted', places: [{ used: 1 }] }, 'a lift frees none')
  })

  test('a request that costs nothing takes a place, too', async () => {
    const quota = newName()
    setTime(start)
    assert.equal(await seen(quota, { cost: 0, place: place('a', 1) }), 'admitted 1')
    assert.equal(await seen(quota, { cost: 0, place: place('a', 2) }), 'admitted 2')
    match(await ask(quota, { limits, cost: 0, place: place('a', 3) }), {
      verdict: 'crowded',
      dayUsed: 0,
    })
  })

  test('does what a model of places does', async () => {
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 60 }), async (events) => {
        const quota = newName()
        setTime(start + ++runs * dayMs)
        const gateways = ['a', 'b', 'c'].map((name) => new ModelGateway(name))
        const stored = new Map<string, Stored>()
        for (const { who, what, gone, isLate } of events) {
          const gateway = gateways[who] ?? new ModelGateway('a')
          const told = isLate ? gateway.last : gateway.next()
          if (!told) continue
          const named = gone ? [gateways[(who + 1) % 3]?.name ?? ''] : []
          const before = stored.get(gateway.name) ?? newStored()
          if (what === 'tell') {
            await tried.store.tellPlaces([{ quota, told: placeOf(told) }])
            stored.set(gateway.name, taking(before, told))
            gateway.told(told)
            continue
          }
          for (const name of named) stored.delete(name)
          const own = taking(before, told)
          stored.set(gateway.name, own)
          const taken = sum(stored)
          const isLetIn = taken < limits.atOnce
          const asked = placeOf(told, named)
          const { verdict, places } = await ask(quota, { limits, place: asked })
          if (isLetIn && told.number > own.settled) own.later.add(told.number)
          const [expected, found] = [
            `${isLetIn ? 'admitted' : 'crowded'} ${sum(stored)}`,
            `${verdict} ${places?.[0]?.used}`,
          ]
          if (found !== expected) throw new Error(`${found} is not ${expected}`)
          gateway.asked(told, isLetIn && !isLate, what === 'end')
        }
      }),
      { numRuns: stories },
    )
  })
}

type Told = Readonly<{ by: string; number: number; settled: number; held: number }>
type Stored = { number: number; settled: number; held: number; later: Set<number> }

/** A gateway of the model: it tells what it holds, and may answer for a place at once or later. */
class ModelGateway {
  readonly name: string
  last: Told | undefined
  #number = 0
  #settled = 0
  #held = 0

  constructor(name: string) {
    this.name = name
  }

  next(): Told {
    const told = { by: this.name, number: ++this.#number, settled: this.#settled, held: this.#held }
    return (this.last = told)
  }

  /** Its answer has come: a place is taken, and may be given back at once. */
  asked({ number }: Told, isLetIn: boolean, ends: boolean): void {
    this.#settled = Math.max(this.#settled, number)
    if (isLetIn && !ends) this.#held++
  }

  /** After a report one request ends. */
  told({ number }: Told): void {
    this.#settled = Math.max(this.#settled, number)
    this.#held = Math.max(0, this.#held - 1)
  }
}

function placeOf({ by, number, settled, held: count }: Told, gone: string[] = []): PlaceAsk {
  return place(by, number, { settled, gone, ...held(count) })
}

function newStored(): Stored {
  return { number: 0, settled: 0, held: 0, later: new Set() }
}

/** What is stored of a gateway after a message: of two, the one with the larger number stands. */
function taking(before: Stored, { number, settled, held: count }: Told): Stored {
  if (number <= before.number) return before
  const later = new Set([...before.later].filter((each) => each > settled))
  return { number, settled, held: count, later }
}

function sum(stored: ReadonlyMap<string, Stored>): number {
  return [...stored.values()].reduce((all, { held: count, later }) => all + count + later.size, 0)
}

const event = fc.record({
  who: fc.integer({ min: 0, max: 2 }),
  what: fc.constantFrom('ask', 'ask', 'end', 'tell'),
  gone: fc.oneof(
    { weight: 6, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
  isLate: fc.oneof(
    { weight: 5, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
})
