/** What a gateway has let in of a quota since the store was told all: by itself, and adjusted. */
export type Alone = {
  readonly usage: object | undefined
  /** Points that were let in, by part and window. */
  readonly letIn: Map<string, number>
  /** Points that requests have cost more, and fewer, in whatever windows. */
  more: number
  fewer: number
}

/** What a gateway lets in without the store. */
export class AloneBook {
  readonly #alone = new Map<string, Alone>()

  /** That of a quota; `usage` is another one after each time the store was told all. */
  of(quota: string, usage: object | undefined): Alone {
    const present = this.#alone.get(quota)
    if (present && present.usage === usage) return present
    const alone: Alone = { usage, letIn: new Map(), more: 0, fewer: 0 }
    this.#alone.set(quota, alone)
    return alone
  }

  adjust(quota: string, usage: object | undefined, points: number): void {
    const alone = this.of(quota, usage)
    if (points > 0) alone.more += points
    else alone.fewer -= points
  }
}
