import { Type } from '../../../../shared/schema.ts'
import {
  durationFrom,
  durationPattern,
  instantFrom,
  instantPattern,
} from '../../../../shared/units.ts'
import { isUpTo, upToPattern } from '../../../front/limits/limit-settings.ts'

// The rules that several settings have. `expected` is the rule in words, for messages and editors.

/** A text of a pattern. */
export const spelled = (pattern: string, expected: string) => Type.String({ pattern, expected })
/** A text of a pattern that something reads, or finds to be out of its range. */
export const readBy = (read: (text: string) => unknown, pattern: string, expected: string) =>
  Type.Refine(spelled(pattern, expected), (value) => read(value) !== undefined)
/** A whole number of a range. */
export const whole = (minimum: number, maximum: number, expected: string) =>
  Type.Integer({ minimum, maximum, expected })

export const count = Type.Integer({ minimum: 1, expected: 'a whole number above 0' })
export const limit = Type.Union([count, Type.Literal('unlimited')], {
  expected: 'a whole number above 0 or "unlimited"',
})
/** Where a window that meters what lies beyond refuses in the end. */
export const upTo = readBy(
  (text) => isUpTo(text) || undefined,
  upToPattern,
  'a share above 100%, such as 300%, or "unlimited"',
)
/** Whole percents up to a thousand. */
export const percentPattern = '^(?:[1-9]\\d{0,2}|1000)%$'
/** The name of a header. */
export const headerName = spelled(
  "^[\\w!#$%&'+.^`|~-]+$",
  'the name of a header, such as x-api-key',
)
export const text = Type.String({ minLength: 1, expected: 'a text' })
export const ranges = Type.Array(text, { expected: 'a list of addresses or CIDR ranges' })
export const yesOrNo = Type.Boolean({ expected: 'true or false' })
/** One of some words. */
export const oneOf = <const Word extends string | number>(...words: readonly Word[]) =>
  Type.Enum(words, { expected: words.join(', ').replace(/, (?=[^,]+$)/, ' or ') })
export const onOrOff = oneOf('on', 'off')
export const port = whole(0, 65_535, 'a port from 0 to 65535')
export const duration = readBy(
  durationFrom,
  durationPattern,
  'a duration such as 50ms, 1s, 5m or 24h',
)
/** A time limit or an interval, which can't be zero. */
export const time = readBy(
  durationFrom,
  `^(?=.*[1-9])${durationPattern.slice(1)}`,
  'a duration above 0, such as 50ms, 1s, 5m or 24h',
)
export const instant = readBy(
  instantFrom,
  instantPattern,
  'a day such as 2030-12-05, or a time with its zone',
)
const method = spelled('^[A-Z-]+$', 'a method such as GET')
export const methods = Type.Array(method, { minItems: 1, expected: 'a list of methods' })
const segment = '(?:[^/{}*:?#\\s]+|\\{\\w+\\})'
/** The syntax of routes' paths, and below of operations. */
const pathPattern = `^(?:/${segment})*/(?:\\*|${segment})?$`
export const operationPattern = `^[A-Z-]+ ${pathPattern.slice(1)}`
/** The path of a route. */
export const path = spelled(pathPattern, 'a path such as /v1/pets, /v1/pets/{petId} or /v1/*')
export const sharePattern = '^(?:100(?:\\.0+)?|\\d{1,2}(?:\\.\\d{1,3})?)%$'
export const share = spelled(sharePattern, 'a share such as 1% or 0.5%, up to 100%')
