import { cursorAt, placeOf } from '../../../front/keys/line.ts'

/** The orders of keys beside that of their names, each by a figure: the highest one comes first. */
export const keyOrders = ['use', 'refusals', 'recent'] as const

export type KeyOrder = (typeof keyOrders)[number]

/** The place of a key in an order; in that of names there is no figure. */
export type KeyPlace = Readonly<{ order?: KeyOrder | undefined; figure: number; end: string }>

/** The place of a cursor; `undefined` if it is none that a page gives. */
export function placeIn(cursor: string): KeyPlace | undefined {
  const [, word, figure, byName = ''] = /^(?:([a-z]+)\.(\d+)\.)?([\w-]+)$/.exec(cursor) ?? []
  const order = keyOrders.find((each) => each === word)
  const end = placeOf(byName)
  if (end === undefined || order !== word) return undefined
  return { order, figure: Number(figure ?? 0), end }
}

/** The cursor of a place. */
export function cursorOf({ order, figure, end }: KeyPlace): string {
  return order === undefined ? cursorAt(end) : `${order}.${figure}.${cursorAt(end)}`
}
