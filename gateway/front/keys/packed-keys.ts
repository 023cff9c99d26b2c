import { breathe } from '../../../shared/breathe.ts'
import { sortedBy } from '../../../shared/in-order.ts'
import type { Key } from './key.ts'
import type { Keys } from './store.ts'
import { newKeyId } from './token.ts'

type NewKey = Omit<Key, 'id'>

const keysInPack = 250

/**
 * New keys on their way into a store, as texts outside V8's heap: as objects, those that were made since the last collection
 * of garbage would be copied by the next one, which holds callers up for 25 ms.
 */
export class PackedKeys implements Keys {
  length = 0
  readonly #packs: Buffer[] = []
  #open: NewKey[] = []
  #ids: readonly string[] = []

  push(key: NewKey): void {
    this.length++
    if (this.#open.push(key) < keysInPack) return
    this.#packs.push(Buffer.from(JSON.stringify(this.#open)))
    this.#open = []
  }

  /** Gives each key an id, in the order in which a store is quickest to add them. */
  async identify(): Promise<void> {
    const ids: string[] = []
    while (ids.length < this.length) {
      ids.push(newKeyId())
      if (ids.length % keysInPack === 0) await breathe()
    }
    this.#ids = await sortedBy(ids, (id) => id)
  }

  *[Symbol.iterator](): Generator<Key> {
    let index = 0
    for (const keys of this.#unpacked()) {
      for (const key of keys) yield { ...key, id: this.#ids[index++] ?? '' }
    }
  }

  *#unpacked(): Generator<readonly NewKey[]> {
    for (const pack of this.#packs) yield JSON.parse(pack.toString()) as readonly NewKey[]
    yield this.#open
  }
}
