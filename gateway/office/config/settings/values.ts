import { noticeWords } from '../../../front/records/notice-types.ts'
import { Type } from '../../../../shared/schema.ts'
import { collectorForm, collectorPattern, isCollector } from '../../../../shared/spans/collector.ts'
import {
  durationFrom,
  durationPattern,
  instantFrom,
  instantPattern,
  sizeFrom,
  sizePattern,
} from '../../../../shared/units.ts'

// The rules for single settings. `expected` is the rule in words, for messages and editors.

/** A text of a pattern. */
const spelled = (pattern: string, expected: string) => Type.String({ pattern, expected })
/** A text of a pattern that something reads, or finds to be out of its range. */
const readBy = (read: (text: string) => unknown, pattern: string, expected: string) =>
  Type.Refine(spelled(pattern, expected), (value) => read(value) !== undefined)
const whole = (minimum: number, maximum: number, expected: string) =>
  Type.Integer({ minimum, maximum, expected })

export const count = Type.Integer({ minimum: 1, expected: 'a whole number above 0' })
/** The points that a request costs. */
export const cost = whole(0, 1_000_000, 'a whole number from 0 to 1000000')
export const limit = Type.Union([count, Type.Literal('unlimited')], {
  expected: 'a whole number above 0 or "unlimited"',
})
export const workers = Type.Union(
  [Type.Integer({ minimum: 1, maximum: 256 }), Type.Literal('auto')],
  {
    expected: 'a whole number from 1 to 256, or auto',
  },
)
export const text = Type.String({ minLength: 1, expected: 'a text' })
export const yesOrNo = Type.Boolean({ expected: 'true or false' })
export const onOrOff = Type.Enum(['on', 'off'], { expected: 'on or off' })
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
/** The name of a gateway, in lists and logs. A `/` parts it from the number of a worker. */
export const gatewayName = spelled(
  '^[\\w.:-]{1,64}$',
  'a name of 1 to 64 letters, digits, ".", "_", ":" or "-"',
)
export const hostName = spelled(
  '^[\\w-]+(?:\\.[\\w-]+)*$',
  'a name such as gateway.internal, without a port',
)
export const size = readBy(sizeFrom, sizePattern, 'a size such as 64KiB or 1MiB')
export const url = Type.Refine(
  spelled('^https?://[^/?#@]+/?$', 'an http or https URL without a path'),
  (value) => URL.canParse(value),
)
export const weight = whole(1, 1_000, 'a whole number from 1 to 1000')
export const status = whole(100, 599, 'an HTTP status from 100 to 599')
export const origin = spelled(
  '^(?:\\*|https?://[^/?#@\\s]+)$',
  'an origin such as https://app.example, or *',
)
export const probe = spelled(
  '^(?:GET|HEAD|OPTIONS) /\\S*$',
  'GET and a path, such as GET /v1/pets?limit=1',
)
export const method = spelled('^[A-Z-]+$', 'a method such as GET')
export const methods = Type.Array(method, { minItems: 1, expected: 'a list of methods' })
const segment = '(?:[^/{}*:?#\\s]+|\\{\\w+\\})'
/** The syntax of routes' paths, and below of operations. */
export const pathPattern = `^(?:/${segment})*/(?:\\*|${segment})?$`
export const operationPattern = `^[A-Z-]+ ${pathPattern.slice(1)}`
/** The path of a route. */
export const path = spelled(pathPattern, 'a path such as /v1/pets, /v1/pets/{petId} or /v1/*')
export const operation = spelled(
  operationPattern,
  'a method and a path, such as GET /v1/pets/{petId}',
)
export const exactPath = spelled('^/[^{}*?#\\s]*$', 'a path such as /healthz')
/** A path at which the gateway itself answers. It has no colon, which would begin a parameter for the router. */
export const ownPath = spelled('^/[^{}*:?#\\s]*$', 'a path such as /v1/quota')
/** A path at which the gateway itself answers, with more paths below it. */
export const ownFolder = spelled('^(?:/[^/{}*:?#\\s]+)+$', 'a path such as /docs')
// It goes into a `Link` header, in which an angle bracket would end it.
export const link = spelled('^[^\\s<>"]+$', 'a path or a URL without spaces')
/** The prefix that replaces the fixed part of a route's path. */
export const prefix = spelled(
  '^(?:/[^/{}*:?#\\s]+)*/\\*$',
  'a path that ends in /*, such as /api/*',
)
export const nodes = Type.Array(
  Type.String({ pattern: '^[^\\s:]+:\\d{1,5}$|^\\[[^\\s]+\\]:\\d{1,5}$', expected: 'host:port' }),
  { minItems: 1, expected: 'a list of host:port' },
)
/** A text that may be empty. */
export const words = Type.String({ expected: 'a text' })

/** Where notices go. */
export const webhook = Type.Refine(spelled('^https?://\\S+$', 'an https URL'), (value) =>
  URL.canParse(value),
)
export const noticeWord = Type.Enum([...noticeWords], {
  expected: 'an event such as key.banned, or a group such as key.*',
})

/** A share in percent, of callers or of answers. */
export const percent = Type.Number({
  exclusiveMinimum: 0,
  maximum: 100,
  expected: 'a percentage above 0 and up to 100, such as 10',
})
/** A part of a day's limit. */
export const wholePercent = whole(1, 100, 'a whole percentage from 1 to 100, such as 80')
export const share = spelled(
  '^(?:100(?:\\.0+)?|\\d{1,2}(?:\\.\\d{1,3})?)%$',
  'a share such as 1% or 0.5%, up to 100%',
)
/** A share that may be nothing, also without its percent sign. */
export const sample = Type.Union([share, Type.Literal(0)], {
  expected: 'a share such as 5% or 0.5%, up to 100%, or 0',
})
/** Where spans are sent. An empty text is nowhere. */
export const collector = Type.Refine(
  spelled(`^$|${collectorPattern}`, collectorForm),
  (value) => value === '' || isCollector(value),
)
/** How many times as long something may take. */
export const factor = Type.Number({
  exclusiveMinimum: 1,
  maximum: 1_000,
  expected: 'a number above 1, such as 2',
})
