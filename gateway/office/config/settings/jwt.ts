import { algorithms } from '../../../front/jwt/settings.ts'
import { pointerPattern } from '../../../../shared/pointer.ts'
import { Type } from '../../../../shared/schema.ts'
import { optional, required, section, shortened } from './setting.ts'
import { count, ranges, spelled, text } from './values.ts'

const algorithm = Type.Enum([...algorithms], {
  expected: 'an algorithm such as RS256, ES256 or EdDSA; none and HS256 are never taken',
})

/** A text that begins with a slash is a pointer: so names of claims that are URLs stay names. */
const claimPattern = `^(?:[^/][\\s\\S]*|${pointerPattern})$`
const claim = spelled(
  claimPattern,
  'the name of a claim, or a JSON pointer such as /realm_access/roles',
)
const claims = Type.Record(
  Type.String({ pattern: claimPattern }),
  Type.Union([text, Type.Array(text, { minItems: 1 })], {
    expected: 'a text, or a list of texts',
    description: 'The text that the claim must be, or a list of texts of which it must be one.',
  }),
  { expected: 'claims by name or JSON pointer, each with its text', minProperties: 1 },
)

const forward = Type.Record(
  Type.String({ pattern: '^[Xx]-[Cc][Aa][Ll][Ll][Ee][Rr]-[A-Za-z\\d][A-Za-z\\d-]{0,63}$' }),
  claim,
  { expected: 'claims by header, such as { X-Caller-Tenant: /org/id }', minProperties: 1 },
)

const byClaim = section({
  claim: required(
    claim,
    'The claim that names the plan. Of a list, the first value of `is` counts that the list has.',
  ),
  is: required(
    Type.Record(Type.String(), text, { expected: 'plans by values of the claim' }),
    'The plan of each value of the claim.',
  ),
  else: optional(
    text,
    'The plan if the claim is missing, or has another value. Without it, such tokens are refused.',
  ),
})
const always = section({ else: required(text, 'The plan of all tokens.') })

const plan = shortened(
  'else',
  Type.Union([byClaim, text, always], {
    expected: 'the name of a plan, or { claim: ..., is: { VALUE: PLAN }, else: PLAN }',
    description: 'The plan of its callers.',
  }),
)

const account = shortened(
  'claim',
  Type.Union(
    [
      section({
        claim: required(claim, 'The claim with the account.'),
        prefix: optional(
          spelled(
            '^[^\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]{0,64}$',
            'a text of at most 64 characters, none of them invisible',
          ),
          'What stands before the claim in the name of the account: the issuer and # by default. With an empty text, callers ' +
            'share the accounts of keys, and of other issuers.',
        ),
      }),
      claim,
    ],
    { expected: 'the name of a claim, or { claim: ..., prefix: ... }' },
  ),
)

export const jwt = Type.Array(
  section({
    issuer: required(text, 'The issuer, as `iss` in its tokens spells it.'),
    audience: required(
      text,
      'The name of this API, which `aud` in its tokens must have; with `none` it isn’t looked at, and `claims` are needed.',
    ),
    claims: optional(
      claims,
      'Claims that its tokens must have, at most ten, beside or in place of an audience.',
    ),
    keys: required(
      text,
      'The URL of its key set (JWKS), or a file with one, which each reload of the configuration reads again.',
    ),
    algorithms: optional(
      Type.Array(algorithm, { minItems: 1, expected: 'a list of algorithms' }),
      'The algorithms that its tokens may be signed by.',
      ['RS256', 'ES256', 'EdDSA'],
    ),
    subject: optional(claim, 'The claim that says who the caller is.', 'sub'),
    name: optional(
      claim,
      'The claim with the name of a new caller, for operators; without it, the subject is the name.',
    ),
    account: optional(
      account,
      'The claim with the account of the caller; without it, callers have no account.',
    ),
    plan: required(plan, 'The plan of its callers.'),
    scopes: optional(
      claim,
      'The claim with the scopes of its tokens, a text with spaces between them or a list; without it `scope`, else `scp`.',
    ),
    forward: optional(
      forward,
      'Claims that the backend gets, by header: `X-Caller-Tenant: /org/id`. At most ten.',
    ),
    maxCallers: optional(
      count,
      'The most callers of this issuer that have a record; more get 503.',
      100_000,
    ),
    allow: optional(
      ranges,
      'The addresses outside the internet that the URL of the keys may lead to. This machine by its own name is always allowed.',
      [],
    ),
  }),
  { expected: 'a list of { issuer: ..., audience: ..., keys: ..., plan: ... }' },
)
