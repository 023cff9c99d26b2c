/** What a gateway has let in of a quota by itself, since the store was told all. */
export type Alone = {
  readonly usage: object | undefined
  /** Points that were let in, by part and window. */
  readonly letIn: Map<string, number>
  /** Points that requests have cost more, and fewer, in whatever windows. */
  adjusted: Adjusted
  /** The latest time of a decision, and whether a later one was earlier by much: windows may have begun again. */
  latestMs: number
  isClockBack: boolean
  /** The fewest gateways that it has shared the quota with. */
  fewestGateways: number
}

type Adjusted = Readonly<{ more: number; fewer: number }>

const none: Adjusted = { more: 0, fewer: 0 }

/** What a gateway lets in without the store. */
export class AloneBook {
  readonly #alone = new Map<string, Alone>()
  /** By quota: adjustments of which the gateway doesn't know yet what the store says to them. */
  readonly #underWay = new Map<string, Adjusted>()

  /** That of a quota; `usage` is another one after each time the store was told all. */
  of(quota: string, usage: object | undefined): Alone {
    const present = this.#alone.get(quota)
    if (present && present.usage === usage) return present
    const alone: Alone = {
      usage,
      letIn: new Map(),
      adjusted: none,
      latestMs: 0,
      isClockBack: false,
      fewestGateways: Infinity,
    }
    this.#alone.set(quota, alone)
    return alone
  }

  /** The adjustments that count in a usage, or may do so. */
  adjustedOf(quota: string, { adjusted }: Alone): Adjusted {
    const { more, fewer } = this.#underWay.get(quota) ?? none
    return { more: adjusted.more + more, fewer: adjusted.fewer + fewer }
  }

  beginAdjusting(quota: string, points: number): void {
    this.#underWay.set(quota, adjusted(this.#underWay.get(quota) ?? none, points))
  }

  endAdjusting(quota: string, points: number, usage: object | undefined): void {
    const { more, fewer } = adjusted(none, points)
    const before = this.#underWay.get(quota) ?? none
    this.#underWay.set(quota, { more: before.more - more, fewer: before.fewer - fewer })
    const alone = this.of(quota, usage)
    alone.adjusted = adjusted(alone.adjusted, points)
  }
}

function adjusted({ more, fewer }: Adjusted, points: number): Adjusted {
  return { more: more + Math.max(0, points), fewer: fewer + Math.max(0, -points) }
}
