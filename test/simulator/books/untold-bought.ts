type Untold = { least: number; most: number; mostBack: number }

/**
 * The bought points that a gateway has to report. Those that it has let in are known; how many of an adjustment's points are
 * bought ones, its own counters tell.
 */
export class UntoldBought {
  readonly #untold = new Map<string, Untold>()

  owe(quota: string, points: number, bought: number | undefined): void {
    const untold = this.#of(quota)
    untold.least += bought ?? 0
    untold.most += bought ?? Math.max(0, points)
    untold.mostBack += bought === undefined ? Math.max(0, -points) : 0
  }

  /** The store has heard of points of a report. */
  hear(
    quota: string,
    { counted, givenBack }: Readonly<{ counted: number; givenBack: number }>,
  ): void {
    const untold = this.#of(quota)
    untold.least -= counted
    untold.most -= counted
    untold.mostBack -= givenBack
  }

  /** The first difference when everything was told; `undefined` if there is none. */
  get difference(): string | undefined {
    for (const [quota, { least, most, mostBack }] of this.#untold) {
      if (least > 0) return `${least} bought points of ${quota} untold`
      if (most < 0 || mostBack < 0) return `too many bought points of ${quota} told`
    }
    this.#untold.clear()
    return undefined
  }

  #of(quota: string): Untold {
    const present = this.#untold.get(quota) ?? { least: 0, most: 0, mostBack: 0 }
    this.#untold.set(quota, present)
    return present
  }
}
