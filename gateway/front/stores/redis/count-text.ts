import type { Columns } from '../../shelves/counts.ts'

/** The characters between times, between parts, and between numbers. */
const [semicolon, comma, space] = [59, 44, 32]

const [zero, nine] = [48, 57]

/** The marks between the things of a text or of an answer, and before the fields that aren't keys. */
const special = /[%;,=@\0]/

/** A key or a part as it stands in fields and texts. */
export function escaped(name: string): string {
  if (!special.test(name)) return name
  return name.replace(/[%;,=@\0]/g, (one) => `%${one.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

export function unescaped(name: string): string {
  if (!name.includes('%')) return name
  return name.replace(/%([0-9a-f]{2})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}

/** The times that are wanted, and the numbers of a line. */
export type Wanted = Readonly<{ from: number; to: number; count: number }>

/**
 * Adds the lines of a text, which counts-add.lua describes, to others: digit by digit, because splitting takes 30 times as
 * long. Any other text ends as well, and gives whole numbers.
 */
export function addLines(
  lines: Columns,
  key: string,
  text: string,
  { from, to, count }: Wanted,
): void {
  const begin = text.indexOf(';')
  let at = begin > 0 ? Number(text.slice(0, begin)) : NaN
  if (!Number.isSafeInteger(at)) return
  let [part, number, isNumber, place] = ['', 0, false, 0]
  for (let i = begin + 1; i <= text.length && at >= from; i++) {
    const code = i < text.length ? text.charCodeAt(i) : semicolon
    if (code >= zero && code <= nine) {
      number = number * 10 + code - zero
      isNumber = true
      continue
    }
    if (isNumber && at <= to && place < count) {
      if (place === 0) {
        lines.keys.push(key)
        lines.parts.push(part)
        lines.ats.push(at)
      }
      lines.numbers.push(Math.min(number, Number.MAX_SAFE_INTEGER))
      place++
    }
    number = 0
    isNumber = false
    if (code === space) continue
    for (; place > 0 && place < count; place++) lines.numbers.push(0)
    place = 0
    if (code === semicolon) {
      at--
      part = ''
    } else if (code === comma) {
      const end = text.indexOf('=', i)
      if (end < 0) return
      part = unescaped(text.slice(i + 1, end))
      i = end
    }
  }
}
