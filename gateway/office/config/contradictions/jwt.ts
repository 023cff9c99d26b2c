import { keysFrom } from '../../../front/jwt/key-set.ts'
import { defaultPrefix } from '../../../front/jwt/settings.ts'
import type { CompleteFile, KnownFile } from '../defaults.ts'
import type { Path } from '../mistake.ts'
import type { NamedFiles } from '../named-files.ts'
import { plainName } from '../../../front/forwarding/withheld-headers.ts'
import { outgoingRemarks } from './addresses.ts'
import type { Known } from '../settings/setting.ts'
import { mistake, warning, type Checked, type Quote, type Remark } from './remarks.ts'

const mostClaims = 10

/** The ends of headers about callers that are Tollgate's own. */
const reserved = new Set(
  'id plan account reference name scopes key address ticket'
    .split(' ')
    .map((end) => `x-caller-${end}`),
)

type Issuer = Known<CompleteFile['jwt'][number]>

/** Each issuer is named once, has keys that can be had, accounts of its own, and plans that are there. */
export function* jwtRemarks({ file, quote, files }: Checked): Generator<Remark> {
  const seen = new Map<string, number>()
  const prefixes: (string | undefined)[] = []
  for (const [i, entry = {}] of (file.jwt ?? []).entries()) {
    const at: Path = ['jwt', i]
    const { issuer, keys, allow, plan, forward } = entry
    const earlier = issuer === undefined ? undefined : seen.get(issuer)
    if (earlier !== undefined) yield mistake([...at, 'issuer'], `is that of jwt[${earlier}]`)
    else if (issuer !== undefined) seen.set(issuer, i)
    yield* claimRemarks(at, entry)
    if (keys !== undefined && /^https?:/i.test(keys)) {
      const outgoing = {
        at: [...at, 'keys'],
        url: keys,
        allow,
        what: 'keys are fetched there',
        plainly: 'only this machine, and addresses in allow, are asked',
        isPlainAllowed: true,
      }
      yield* outgoingRemarks(outgoing, quote)
    } else if (keys !== undefined && files) yield* fileRemarks([...at, 'keys'], keys, files)
    yield* forwardRemarks([...at, 'forward'], Object.keys(forward ?? {}))
    const prefix = prefixOf(entry)
    const other = prefixes.findIndex((each) => overlap(each, prefix))
    if (other >= 0) {
      yield warning(
        [...at, 'account'],
        `shares a prefix with jwt[${other}].account: tokens of both issuers can name the same accounts`,
      )
    }
    prefixes.push(prefix)
    yield* planRemarks([...at, 'plan'], plan, file.plans, quote)
  }
}

/** Without an audience, claims must tell that a token is for this API: the issuer has others. */
function* claimRemarks(at: Path, entry: Issuer): Generator<Remark> {
  const { length } = Object.keys(entry.claims ?? {})
  if (length > mostClaims) {
    yield mistake([...at, 'claims'], `has ${length} claims; at most ${mostClaims} are allowed`)
  } else if (entry.audience === 'none' && !('claims' in entry)) {
    const sentence = 'is none, which needs claims, such as claims: { client_id: 4nb1 }'
    yield mistake([...at, 'audience'], `${sentence}: else tokens for other APIs get in`)
  }
}

/** Claims go on in headers that nothing else has, whichever way a backend spells them. */
function* forwardRemarks(at: Path, headers: readonly string[]): Generator<Remark> {
  if (headers.length > mostClaims) {
    yield mistake(at, `has ${headers.length} headers; at most ${mostClaims} are allowed`)
  }
  const seen = new Map<string, string>()
  for (const header of headers) {
    const spelled = plainName(header)
    const other = seen.get(spelled)
    if (reserved.has(spelled)) yield mistake([...at, header], 'is a header of Tollgate’s own')
    else if (other !== undefined) yield mistake([...at, header], `is ${other} for some backends`)
    seen.set(spelled, header)
  }
}

/** What stands before the accounts of an issuer; `undefined` if it has none, or a variable decides. */
function prefixOf({ issuer, account = {} }: Issuer): string | undefined {
  if ('prefix' in account) return account.prefix
  const hasAccounts = issuer !== undefined && 'claim' in account
  return hasAccounts ? defaultPrefix(issuer) : undefined
}

/** Whether accounts can begin with both prefixes. An empty one, which shares on purpose, is only like another one. */
function overlap(one: string | undefined, other: string | undefined): boolean {
  if (!one || !other) return one !== undefined && one === other
  return one.startsWith(other) || other.startsWith(one)
}

function* fileRemarks(at: Path, file: string, files: NamedFiles): Generator<Remark> {
  const { text: content, why } = files.keySet(file)
  // The name isn't told: it may come from the environment.
  if (content === undefined) {
    yield mistake(at, `can't be read: ${why}`)
    return
  }
  try {
    if (keysFrom(content).keys.length > 0) return
    yield mistake(at, 'must be a file with at least one key that verifies signatures')
  } catch (error) {
    yield mistake(at, `can't be used: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function* planRemarks(
  at: Path,
  { claim, is = {}, else: otherwise }: NonNullable<Issuer['plan']> = {},
  plans: KnownFile['plans'] = {},
  quote: Quote,
): Generator<Remark> {
  // A plan that is written as one word is the same as an `else` alone.
  const isWord = claim === undefined && quote([...at, 'else']) === ''
  const named: [Path, string | undefined][] = [
    ...Object.entries(is).map(([value, name]): [Path, string | undefined] => [
      [...at, 'is', value],
      name,
    ]),
    [isWord ? at : [...at, 'else'], otherwise],
  ]
  for (const [setting, name] of named) {
    if (name === undefined) continue
    if (!Object.hasOwn(plans, name)) {
      const all = Object.keys(plans).join(', ')
      yield mistake(
        setting,
        `is ${quote(setting) || name}, but there is no such plan; there are ${all}`,
      )
    } else if (plans[name]?.limits === 'custom') {
      yield warning(
        setting,
        `is ${name}, a custom plan: its callers are refused until an operator gives each limits of its own`,
      )
    }
  }
}
