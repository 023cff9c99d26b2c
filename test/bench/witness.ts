import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { spreadOf } from './load.ts'

/** Nine of ten times of the fixed work may be this many times the median. */
const mostSpread = 1.15

/** Nine of ten rounds of the first contestant may cost this many times the median: more isn't the program's. */
const mostOfReference = 1.5

/** The share of the processors' time that another machine may take, and that other programs may take while the bench rests. */
const [mostStolen, mostTaken] = [0.01, 0.1]

const restMs = 500

/** A look does the work this many times. The first brings memory back into the caches, and isn't counted. */
const timesOfALook = 4

/** The first looks are those of code that isn't compiled yet. */
const warmUp = 5

/** Looks before the first round and after the last one: a short part is judged by them. */
const looksAround = 20

/** How steady a machine was: times of a fixed piece of work, and shares of the processors' time. */
export type Steadiness = Readonly<{
  workMs: readonly number[]
  stolen: number
  taken: number
  /** The spread of a part's first contestant; 1 where a part has no rounds. */
  reference: number
}>

export type Verdict = Readonly<{ isQuiet: boolean; sentence: string }>

/**
 * Does the same piece of work between the rounds of a bench: it takes longer only where something else does. What others take
 * of the processors shows before the first round.
 */
export class Witness {
  readonly #workMs: number[] = []
  readonly #memory = new Int32Array(1 << 20).fill(1)
  readonly #before = processorTimes()
  #taken = 0
  #sum = 0

  /** Looks what others do while the bench does nothing. */
  static async beside(): Promise<Witness> {
    const witness = new Witness()
    for (let i = 0; i < warmUp; i++) witness.look()
    witness.#workMs.length = 0
    const before = processorTimes()
    await setTimeout(restMs)
    const after = processorTimes()
    witness.#taken = 1 - shareBetween(before, after, 'idle')
    witness.#lookAround()
    return witness
  }

  /**
   * Does the work a few times and keeps the shortest: what the bench has done before, and what its servers still do after a
   * round, isn't the machine's.
   */
  look(): void {
    const times = Array.from({ length: timesOfALook }, () => this.#work())
    this.#workMs.push(Math.min(...times.slice(1)))
  }

  /** Some milliseconds of arithmetic and memory. */
  #work(): number {
    const before = performance.now()
    for (let pass = 0; pass < 16; pass++) {
      for (let i = pass; i < this.#memory.length; i += 16) {
        this.#sum = (Math.imul(this.#sum, 31) + (this.#memory[i] ?? 0)) | 0
      }
    }
    return performance.now() - before
  }

  #lookAround(): void {
    for (let i = 0; i < looksAround; i++) this.look()
  }

  verdict(reference: number): Verdict {
    this.#lookAround()
    const stolen = shareBetween(this.#before, processorTimes(), 'stolen')
    return verdictOf({ workMs: this.#workMs, stolen, taken: this.#taken, reference })
  }
}

export function verdictOf({ workMs, stolen, taken, reference }: Steadiness): Verdict {
  const spread = spreadOf(workMs)
  const isQuiet =
    spread <= mostSpread &&
    stolen <= mostStolen &&
    taken <= mostTaken &&
    reference <= mostOfReference
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
  return {
    isQuiet,
    sentence:
      `${isQuiet ? 'The machine was quiet' : 'The machine was busy'}: a fixed piece of work between the rounds took up to ` +
      `${spread.toFixed(2)} times its median and a round of the first contestant up to ${reference.toFixed(2)} (both nine times of ten), ` +
      `other programs took ${percent(taken)} of the processors ` +
      `before, other machines ${percent(stolen)} meanwhile.`,
  }
}

type Times = Readonly<{ idle: number; stolen: number; all: number }>

/** The processors' times since their start, as Linux counts them. */
function processorTimes(): Times {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const times = line.split(/\s+/).slice(1, 9).map(Number)
  const [, , , idle = 0, waiting = 0, , , stolen = 0] = times
  return { idle: idle + waiting, stolen, all: times.reduce((sum, each) => sum + each, 0) }
}

function shareBetween(before: Times, after: Times, what: 'idle' | 'stolen'): number {
  return (after[what] - before[what]) / Math.max(1, after.all - before.all)
}
