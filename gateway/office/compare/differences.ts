import { asOne } from '../../front/forwarding/headers.ts'
import type { Headers } from '../../front/forwarding/onlooker.ts'
import { shapeBreaks, typeBreak } from './shape.ts'
import { textOf, type KeptBody } from './body.ts'

/** An answer as a caller sees it, or would see it. */
export type SeenAnswer = Readonly<{
  status: number
  headers: Headers
  body: KeptBody
}>

/** The longest name of a member that is told, and the most digits in it. */
const longestName = 40
const mostDigits = 3

/** The differences that would break a caller if it got the later answer in place of the earlier one. No value is in it. */
export async function differences(before: SeenAnswer, after: SeenAnswer): Promise<string[]> {
  if (after.status !== before.status) return [`the status is ${after.status}, not ${before.status}`]
  const type = typeBreak(typeOf(before), typeOf(after))
  if (type !== undefined) return [type]
  const location = locationBreak(before, after)
  return [...(location === undefined ? [] : [location]), ...(await bodyBreaks(before, after))]
}

async function bodyBreaks(before: SeenAnswer, after: SeenAnswer): Promise<string[]> {
  // Anything else has no members, and undoing its encoding would be work for nothing.
  if (!/json|^none$/.test(typeOf(before))) return []
  const [old, now] = await Promise.all([bodyText(before), bodyText(after)])
  return old === undefined || now === undefined ? [] : shapeBreaks(old, now, plainName)
}

function bodyText({ body, headers }: SeenAnswer): Promise<string | undefined> {
  return textOf(body, asOne(headers['content-encoding']) ?? '')
}

function typeOf({ headers }: SeenAnswer): string {
  return (asOne(headers['content-type']) ?? 'none').toLowerCase()
}

/**
 * The name of a member as it is told. Where the names of an object are data, such as ids or addresses, they differ from
 * answer to answer and may be private: all of them are `*`.
 */
function plainName(name: string): string {
  const digits = name.replace(/\D/g, '').length
  const isPlain = /^[@$_]?[A-Za-z][\w:$-]*$/.test(name)
  return isPlain && digits <= mostDigits && name.length <= longestName ? name : '*'
}

/** Places are compared without what is made anew for each answer: their queries, and segments with digits. */
function locationBreak(
  { headers: { location: old } }: SeenAnswer,
  { headers: { location: now } }: SeenAnswer,
): string | undefined {
  const [before, after] = [asOne(old), asOne(now)]
  if (placeOf(before) === placeOf(after)) return undefined
  if (after === undefined) return 'Location is missing'
  return before === undefined ? 'there is a Location' : 'Location leads elsewhere'
}

function placeOf(location: string | undefined): string | undefined {
  const [path] = location?.split(/[?#]/, 1) ?? []
  return path?.replace(/(?<!\/)\/(?!\/)[^/]*\d[^/]*/g, '/*')
}
