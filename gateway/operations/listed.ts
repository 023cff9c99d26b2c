/** A list of any length. Read whole, it is in order; streamed, it is in the order of the store, in little memory. */
export class Listed<Item> {
  readonly #items: AsyncIterable<Item>
  readonly #order: (a: Item, b: Item) => number
  readonly #view: (item: Item) => object

  constructor(
    items: AsyncIterable<Item>,
    order: (a: Item, b: Item) => number,
    view: (item: Item) => object,
  ) {
    this.#items = items
    this.#order = order
    this.#view = view
  }

  async inOrder(): Promise<Item[]> {
    const all: Item[] = []
    for await (const item of this.#items) all.push(item)
    return all.sort(this.#order)
  }

  async wholeJson(): Promise<object[]> {
    return (await this.inOrder()).map(this.#view)
  }

  /** The text of the list in JSON, in pieces. */
  async *json(): AsyncGenerator<string, void> {
    let before = '['
    for await (const item of this.#items) {
      yield before + JSON.stringify(this.#view(item))
      before = ',\n'
    }
    yield before === '[' ? '[]' : ']'
  }
}
