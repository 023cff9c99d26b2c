import { ietfDrafts } from '../../../front/limits/headers.ts'
import { Type } from '../../../../shared/schema.ts'
import { optional, orOff, required, section } from './setting.ts'
import { count, headerName, spelled, text, whole } from './values.ts'

const origin = spelled(
  '^(?:\\*|https?://[^/?#@\\s]+)$',
  'an origin such as https://app.example, or *',
)
/** A path at which the gateway itself answers. It has no colon, which would begin a parameter for the router. */
const ownPath = spelled('^/[^{}*:?#\\s]*$', 'a path such as /v1/quota')
/** A path at which the gateway itself answers, with more paths below it. */
const ownFolder = spelled('^(?:/[^/{}*:?#\\s]+)+$', 'a path such as /docs')
/** A part of a day's limit. */
const wholePercent = whole(1, 100, 'a whole percentage from 1 to 100, such as 80')

export const keys = section({
  cache: optional(
    count,
    'The number of keys that each gateway keeps in memory, to spare look-ups in the store.',
    100_000,
  ),
  from: optional(
    Type.Array(headerName, { minItems: 1, expected: 'a list of at least one name of a header' }),
    'The headers in which a key may come; pages for callers name the first. Backends see none of them.',
    ['authorization'],
  ),
})

/** An endpoint of the gateway itself. */
const readAt = (initial: string, what: string) => {
  const description = `The path at which callers read ${what}; asking is free.`
  return orOff(section({ path: optional(ownPath, description, initial) }))
}
export const quota = readAt('/v1/quota', 'their limits')
export const usage = readAt('/v1/usage', 'their usage by day')

export const portal = section({
  path: optional(ownFolder, 'The path of the pages; they need no key.', '/docs'),
  openapi: required(
    text,
    'The OpenAPI document of the API, in YAML or JSON, from the working directory or from above this file. Each reload of the configuration reads it again.',
  ),
})

export const headers = section({
  ietf: optional(
    Type.Union([Type.Boolean(), Type.Enum(ietfDrafts)], {
      expected: `true, false or ${ietfDrafts.join(', ')}`,
    }),
    'Whether RateLimit and RateLimit-Policy are sent, as a draft of the IETF has them; true is the newest that this version knows.',
    false,
  ),
  near: optional(
    Type.Array(wholePercent, { maxItems: 10, expected: 'a list of at most 10 whole percentages' }),
    'The percentages of a day’s limit that count as near its end. From the lowest one on, answers carry X-RateLimit-Notice; [] ends that.',
    [80, 95],
  ),
})

/** The rule of RFC 9110 for a pseudonym or a host, without its rarer characters. `off` is none. */
export const via = spelled(
  '^[\\w.-]{1,64}(?::\\d{1,5})?$',
  'a name such as tollgate or gateway.example, or off',
)

export const cors = section({
  origins: optional(
    Type.Array(origin, { expected: 'a list of origins, or of *' }),
    "The origins of these pages; '*' for all.",
    [],
  ),
  expose: optional(
    Type.Array(headerName, { maxItems: 50, expected: 'a list of at most 50 names of headers' }),
    'Headers of answers that these pages may read, beside the gateway’s own and those that the backend exposes.',
    [],
  ),
})
