import { byLimit, windows, type LimitName } from '../../../../shared/windows.ts'
import type { KeyChanges } from '../../../front/keys/settings.ts'
import { dayOfMonth, end, limit, limitKind, ofText, type TimeAt } from '../kinds.ts'
import type { Given } from '../parameter.ts'
import { aSwitch, textOf, valueOf } from '../parameters.ts'

/** Words by which people may mean "no restriction": they are refused as methods. */
const anyMethod = new Set(['ANY', 'ALL', 'NONE', '*', ''])

const method = ofText('one method such as GET; without one, all are allowed', (text) => {
  const name = text.toUpperCase()
  return anyMethod.has(name) ? undefined : name
})

/** A list of texts, each by an option of its own. */
function listOf<const Value extends string>(value: Value, option: string, help: string) {
  return { ...textOf(value, help), option, many: true } as const
}

const name = textOf('TEXT', 'the name of the key, for people')
const plan = textOf('PLAN', 'a plan of the configuration')
const account = textOf('ACCOUNT', 'keys of one account share one quota')
const reference = textOf('ID', 'the id by which your own systems know the customer')
const ownLimit = {
  value: 'N',
  help: "a limit in place of the plan's",
  nullWord: { word: 'plan', meaning: "the plan's" },
} as const
const expiresAt = {
  kind: end,
  value: 'DATE',
  option: 'expires',
  help: 'when it ends; a day means its beginning, 00:00 UTC',
  nullWord: { word: 'never', meaning: 'no end' },
} as const
const methods = { ...listOf('METHOD', 'method', 'allow this method only'), kind: method } as const
const paths = listOf(
  'PATTERN',
  'path',
  'allow this path only; /v1/pets/* is everything below /v1/pets/',
)
const addresses = listOf('RANGE', 'address', 'allow this address or CIDR range only')
const scopes = listOf('SCOPE', 'scope', 'give it this scope; without any, it has all')
const origins = listOf(
  'ORIGIN',
  'origin',
  'allow pages of this origin only, such as https://app.example',
)
const note = textOf('TEXT', 'anything worth knowing')
const test = aSwitch(
  'a test key: lets its owner simulate refusals with X-Gateway-Act; this can’t be changed later',
)

/** The day on which the months of a key's quota begin. */
export const monthFrom = valueOf(
  dayOfMonth,
  'DAY',
  'the day, 1 to 28, on which the months of its quota begin: its billing day',
)

const capLimit = {
  value: 'N',
  help: 'the most that this key may use of its account',
} as const

/** The kinds of limits, all of which a window's is one of. */
type KindOf<Of> = Of extends 'cap' ? typeof limit : ReturnType<typeof limitKind>

/** A parameter for each limit: `limits.perHour` with `--per-hour`, or `cap.perHour` with `--cap-per-hour`. */
function byWindow<Of extends 'limits' | 'cap', Rest extends object>(of: Of, rest: Rest) {
  const prefix = of === 'cap' ? 'cap-' : ''
  const entries = windows.map((window) => {
    const { name, limit: setting } = window
    const kind = of === 'limits' ? limitKind(window) : limit
    return [`${of}.${setting}`, { ...rest, kind, option: `${prefix}per-${name}` }] as const
  })
  const places = [`${of}.atOnce`, { ...rest, kind: limit, option: `${prefix}at-once` }] as const
  return Object.fromEntries([...entries, places]) as Readonly<
    Record<`${Of}.${LimitName | 'atOnce'}`, Rest & Readonly<{ kind: KindOf<Of>; option: string }>>
  >
}

/** The parameters of a new key. A dot leads into a member of an object. */
export const newKey = {
  plan: { ...plan, isRequired: true },
  name: { ...name, isRequired: true },
  account,
  reference,
  ...byWindow('limits', ownLimit),
  ...byWindow('cap', capLimit),
  expiresAt,
  methods,
  paths,
  addresses,
  scopes,
  origins,
  note,
  test,
} as const

/** The parameters of a change; settings that are left out stay. */
export const keyChange = {
  plan,
  name,
  account: { ...account, takeAway: 'take it out of its account: it has a quota of its own again' },
  reference: {
    ...reference,
    takeAway: 'remove its reference',
    nullWord: { word: '', meaning: 'none' },
  },
  ...byWindow('limits', { ...ownLimit, takeAway: "the plan's limit again" }),
  ...byWindow('cap', { ...capLimit, takeAway: 'the account’s limit alone again' }),
  expiresAt: { ...expiresAt, takeAway: 'it has no end again' },
  methods: { ...methods, takeAway: 'all methods again' },
  paths: { ...paths, takeAway: 'all paths again' },
  addresses: { ...addresses, takeAway: 'all addresses again' },
  scopes: { ...scopes, takeAway: 'all scopes again' },
  origins: {
    ...origins,
    takeAway: 'any page again, and programs without one',
    nullWord: { word: '', meaning: 'none' },
  },
  note: { ...note, takeAway: 'remove its note' },
} as const

/** The settings of a key from given parameters; `null` takes a setting away. */
export function settingsFrom(values: Given<typeof keyChange>, nowMs: number): KeyChanges {
  const { expiresAt, plan, name, account, reference, note } = values
  const { methods, paths, addresses, scopes, origins } = values
  const restrictions = { methods, paths, addresses, scopes, origins }
  const others = { plan, name, account, reference, note, ...restrictions }
  const limits = givenMembers(limitsIn(values))
  const cap = givenMembers(capIn(values))
  return {
    ...givenMembers({ ...others, expiresAtMs: timeOf(expiresAt, nowMs) }),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
    ...(Object.keys(cap).length > 0 ? { cap } : {}),
  }
}

/** The limits among given parameters, by their names. */
function limitsIn(settings: Pick<Given<typeof keyChange>, `limits.${LimitName | 'atOnce'}`>) {
  const ofWindows = byLimit((window) => settings[`limits.${window.limit}`])
  return { ...ofWindows, atOnce: settings['limits.atOnce'] }
}

function capIn(settings: Pick<Given<typeof keyChange>, `cap.${LimitName | 'atOnce'}`>) {
  return {
    ...byLimit((window) => settings[`cap.${window.limit}`]),
    atOnce: settings['cap.atOnce'],
  }
}

function timeOf(time: TimeAt | null | undefined, nowMs: number): number | null | undefined {
  return time ? time(nowMs) : time
}

/** The members that were given, those taken away as `undefined`. */
function givenMembers(members: object): object {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries.map(([name, value]) => [name, (value as unknown) ?? undefined]))
}
