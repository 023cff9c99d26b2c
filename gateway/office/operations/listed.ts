import { breathe } from '../../../shared/breathe.ts'

/** The length of a piece of a streamed list: rows by themselves cost five times as much to send. */
const pieceLength = 16_384

/** Items that come one by one, or are there already. */
type Items<Item> = Iterable<Item> | AsyncIterable<Item>

/** A list of any length. Read whole, it is in order; streamed, it is in the order of the store, in little memory. */
export class Listed<Item> {
  readonly #items: Items<Item>
  readonly #order: (a: Item, b: Item) => number
  readonly #view: (item: Item) => object
  /** Whether it comes in order. */
  isInOrder = false

  constructor(
    items: Items<Item>,
    order: (a: Item, b: Item) => number,
    view: (item: Item) => object,
  ) {
    this.#items = items
    this.#order = order
    this.#view = view
  }

  /** A list of items that are in order already. */
  static of<Item>(items: readonly Item[], view: (item: Item) => object): Listed<Item> {
    return new Listed(items, () => 0, view)
  }

  /** A list of any length that comes in order, so that nobody reads it whole. */
  static inOrder<Item>(items: AsyncIterable<Item>, view: (item: Item) => object): Listed<Item> {
    const listed = new Listed(items, () => 0, view)
    listed.isInOrder = true
    return listed
  }

  async inOrder(): Promise<Item[]> {
    const all: Item[] = []
    for await (const item of this.#items) all.push(item)
    return all.sort(this.#order)
  }

  async wholeJson(): Promise<object[]> {
    return (await this.inOrder()).map(this.#view)
  }

  /** The text of the list in JSON, in pieces; `textOf` makes the text of each item. */
  async *json(textOf: (view: object) => string = JSON.stringify): AsyncGenerator<string, void> {
    let piece = '['
    let count = 0
    for await (const item of this.#items) {
      piece += (count++ > 0 ? ',\n' : '') + textOf(this.#view(item))
      if (piece.length < pieceLength) continue
      yield piece
      piece = ''
      await breathe()
    }
    yield `${piece}]`
  }
}
