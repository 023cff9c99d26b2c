import { noticeWords } from '../notices/types.ts'
import { Type } from '../../shared/schema.ts'
import { collectorForm, collectorPattern, isCollector } from '../../shared/spans/collector.ts'
import {
  durationFrom,
  durationPattern,
  instantFrom,
  instantPattern,
  sizeFrom,
  sizePattern,
} from '../../shared/units.ts'

// The rules for single settings. `expected` is the rule in words, for messages and editors.

export const count = Type.Integer({ minimum: 1, expected: 'a whole number above 0' })
/** The points that a request costs. */
export const cost = Type.Integer({
  minimum: 0,
  maximum: 1_000_000,
  expected: 'a whole number from 0 to 1000000',
})
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
export const port = Type.Integer({
  minimum: 0,
  maximum: 65_535,
  expected: 'a port from 0 to 65535',
})
export const duration = Type.Refine(
  Type.String({ pattern: durationPattern, expected: 'a duration such as 50ms, 1s, 5m or 24h' }),
  (value) => durationFrom(value) !== undefined,
)
/** A time limit or an interval, which can't be zero. */
export const time = Type.Refine(
  Type.String({
    pattern: `^(?=.*[1-9])${durationPattern.slice(1)}`,
    expected: 'a duration above 0, such as 50ms, 1s, 5m or 24h',
  }),
  (value) => durationFrom(value) !== undefined,
)
export const instant = Type.Refine(
  Type.String({
    pattern: instantPattern,
    expected: 'a day such as 2030-12-05, or a time with its zone',
  }),
  (value) => instantFrom(value) !== undefined,
)
/** The name of a gateway, in lists and logs. A `/` parts it from the number of a worker. */
export const gatewayName = Type.String({
  pattern: '^[\\w.:-]{1,64}$',
  expected: 'a name of 1 to 64 letters, digits, ".", "_", ":" or "-"',
})
export const hostName = Type.String({
  pattern: '^[\\w-]+(?:\\.[\\w-]+)*$',
  expected: 'a name such as gateway.internal, without a port',
})
export const size = Type.Refine(
  Type.String({ pattern: sizePattern, expected: 'a size such as 64KiB or 1MiB' }),
  (value) => sizeFrom(value) !== undefined,
)
export const url = Type.Refine(
  Type.String({
    pattern: '^https?://[^/?#@]+/?$',
    expected: 'an http or https URL without a path',
  }),
  (value) => URL.canParse(value),
)
export const weight = Type.Integer({
  minimum: 1,
  maximum: 1_000,
  expected: 'a whole number from 1 to 1000',
})
export const status = Type.Integer({
  minimum: 100,
  maximum: 599,
  expected: 'an HTTP status from 100 to 599',
})
export const origin = Type.String({
  pattern: '^(?:\\*|https?://[^/?#@\\s]+)$',
  expected: 'an origin such as https://app.example, or *',
})
export const probe = Type.String({
  pattern: '^(?:GET|HEAD|OPTIONS) /\\S*$',
  expected: 'GET and a path, such as GET /v1/pets?limit=1',
})
export const method = Type.String({ pattern: '^[A-Z-]+$', expected: 'a method such as GET' })
const segment = '(?:[^/{}*:?#\\s]+|\\{\\w+\\})'
/** The syntax of routes' paths, and below of operations. */
export const pathPattern = `^(?:/${segment})*/(?:\\*|${segment})?$`
export const operationPattern = `^[A-Z-]+ ${pathPattern.slice(1)}`
/** The path of a route. */
export const path = Type.String({
  pattern: pathPattern,
  expected: 'a path such as /v1/pets, /v1/pets/{petId} or /v1/*',
})
export const operation = Type.String({
  pattern: operationPattern,
  expected: 'a method and a path, such as GET /v1/pets/{petId}',
})
export const exactPath = Type.String({
  pattern: '^/[^{}*?#\\s]*$',
  expected: 'a path such as /healthz',
})
/** A path at which the gateway itself answers. It has no colon, which would begin a parameter for the router. */
export const ownPath = Type.String({
  pattern: '^/[^{}*:?#\\s]*$',
  expected: 'a path such as /v1/quota',
})
/** A path at which the gateway itself answers, with more paths below it. */
export const ownFolder = Type.String({
  pattern: '^(?:/[^/{}*:?#\\s]+)+$',
  expected: 'a path such as /docs',
})
// It goes into a `Link` header, in which an angle bracket would end it.
export const link = Type.String({
  pattern: '^[^\\s<>"]+$',
  expected: 'a path or a URL without spaces',
})
/** The prefix that replaces the fixed part of a route's path. */
export const prefix = Type.String({
  pattern: '^(?:/[^/{}*:?#\\s]+)*/\\*$',
  expected: 'a path that ends in /*, such as /api/*',
})
export const nodes = Type.Array(
  Type.String({ pattern: '^[^\\s:]+:\\d{1,5}$|^\\[[^\\s]+\\]:\\d{1,5}$', expected: 'host:port' }),
  { minItems: 1, expected: 'a list of host:port' },
)
/** A text that may be empty. */
export const words = Type.String({ expected: 'a text' })

/** Where notices go. */
export const webhook = Type.Refine(
  Type.String({ pattern: '^https?://\\S+$', expected: 'an https URL' }),
  (value) => URL.canParse(value),
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
export const wholePercent = Type.Integer({
  minimum: 1,
  maximum: 100,
  expected: 'a whole percentage from 1 to 100, such as 80',
})
export const share = Type.String({
  pattern: '^(?:100(?:\\.0+)?|\\d{1,2}(?:\\.\\d{1,3})?)%$',
  expected: 'a share such as 1% or 0.5%, up to 100%',
})
/** A share that may be nothing, also without its percent sign. */
export const sample = Type.Union([share, Type.Literal(0)], {
  expected: 'a share such as 5% or 0.5%, up to 100%, or 0',
})
/** Where spans are sent. An empty text is nowhere. */
export const collector = Type.Refine(
  Type.String({ pattern: `^$|${collectorPattern}`, expected: collectorForm }),
  (value) => value === '' || isCollector(value),
)
/** How many times as long something may take. */
export const factor = Type.Number({
  exclusiveMinimum: 1,
  maximum: 1_000,
  expected: 'a number above 1, such as 2',
})
