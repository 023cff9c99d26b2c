import { Type } from '../../../../shared/schema.ts'
import { isTargetUrl, targetForm, targetPattern } from '../../../front/forwarding/target-url.ts'
import { optional, required, section, shortened } from './setting.ts'
import { spelled, whole } from './values.ts'

const url = Type.Refine(spelled(targetPattern, targetForm), isTargetUrl)
const weight = whole(1, 1_000, 'a whole number from 1 to 1000')

const target = shortened(
  'url',
  Type.Union(
    [
      url,
      section({
        url: required(url, 'The URL of the target.'),
        weight: optional(
          weight,
          'The number of requests that it gets for each one of a target with weight 1.',
          1,
        ),
      }),
    ],
    {
      expected: `${targetForm}, or { url: ..., weight: ... }`,
      description: 'The URL of a target, or a target with its weight.',
    },
  ),
)
export const targets = Type.Array(target, {
  minItems: 1,
  expected: 'a list of URLs, or of { url: ..., weight: ... }',
})
