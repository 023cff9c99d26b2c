import { windows, type LimitName } from '../../../../shared/windows.ts'
import type { KeyChanges } from '../../../front/keys/settings.ts'
import { limitSettings } from '../../../front/limits/limit-settings.ts'
import { dayOfMonth, end, limit, limitKind, ofText, type TimeAt } from '../kinds.ts'
import type { Given, Parameter } from '../parameter.ts'
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

/** The day on which the months of a key's quota begin. */
export const monthFrom = valueOf(
  dayOfMonth,
  'DAY',
  'the day, 1 to 28, on which the months of its quota begin: its billing day',
)

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

const none = { word: '', meaning: 'none' } as const

/** The parameters of a change; settings that are left out stay. A dot leads into a member of an object. */
export const keyChange = {
  plan: textOf('PLAN', 'a plan of the configuration'),
  name: textOf('TEXT', 'the name of the key, for people'),
  account: {
    ...textOf('ACCOUNT', 'keys of one account share one quota'),
    takeAway: 'take it out of its account: it has a quota of its own again',
  },
  reference: {
    ...textOf('ID', 'the id by which your own systems know the customer'),
    takeAway: 'remove its reference',
    nullWord: none,
  },
  ...byWindow('limits', {
    value: 'N',
    help: "a limit in place of the plan's",
    takeAway: "the plan's limit again",
    nullWord: { word: 'plan', meaning: "the plan's" },
  }),
  ...byWindow('cap', {
    value: 'N',
    help: 'the most that this key may use of its account',
    takeAway: 'the account’s limit alone again',
  }),
  expiresAt: {
    ...valueOf(end, 'DATE', 'when it ends; a day means its beginning, 00:00 UTC'),
    option: 'expires',
    takeAway: 'it has no end again',
    nullWord: { word: 'never', meaning: 'no end' },
  },
  methods: {
    ...listOf('METHOD', 'method', 'allow this method only'),
    kind: method,
    takeAway: 'all methods again',
  },
  paths: {
    ...listOf('PATTERN', 'path', 'allow this path only; /v1/pets/* is everything below /v1/pets/'),
    takeAway: 'all paths again',
  },
  addresses: {
    ...listOf('RANGE', 'address', 'allow this address or CIDR range only'),
    takeAway: 'all addresses again',
  },
  scopes: {
    ...listOf('SCOPE', 'scope', 'give it this scope; without any, it has all'),
    takeAway: 'all scopes again',
  },
  origins: {
    ...listOf('ORIGIN', 'origin', 'allow pages of this origin only, such as https://app.example'),
    takeAway: 'any page again, and programs without one',
    nullWord: none,
  },
  note: { ...textOf('TEXT', 'anything worth knowing'), takeAway: 'remove its note' },
} as const

/** The parameters of a new key. */
export const newKey = {
  ...fromNothing(keyChange),
  plan: { ...keyChange.plan, isRequired: true },
  name: { ...keyChange.name, isRequired: true },
  test: aSwitch(
    'a test key: lets its owner simulate refusals with X-Gateway-Act; this can’t be changed later',
  ),
} as const

/** Parameters of what has no settings yet: nothing can be taken away, and an empty text means nothing. */
function fromNothing<All extends Readonly<Record<string, Parameter>>>(parameters: All) {
  const all = Object.entries(parameters).map(([name, parameter]) => {
    const nullWord = parameter.nullWord?.word ? parameter.nullWord : undefined
    return [name, { ...parameter, takeAway: undefined, nullWord }]
  })
  return Object.fromEntries(all) as { readonly [Name in keyof All]: Omit<All[Name], 'takeAway'> }
}

/** The settings of a key from given parameters; `null` takes a setting away. */
export function settingsFrom(values: Given<typeof keyChange>, nowMs: number): KeyChanges {
  const { expiresAt, plan, name, account, reference, note } = values
  const { methods, paths, addresses, scopes, origins } = values
  const restrictions = { methods, paths, addresses, scopes, origins }
  const others = { plan, name, account, reference, note, ...restrictions }
  const limits = givenMembers(limitsIn('limits', values))
  const cap = givenMembers(limitsIn('cap', values))
  return {
    ...givenMembers({ ...others, expiresAtMs: timeOf(expiresAt, nowMs) }),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
    ...(Object.keys(cap).length > 0 ? { cap } : {}),
  }
}

/** The limits, or those of the cap, among given parameters, by their names. */
function limitsIn<Of extends 'limits' | 'cap'>(
  of: Of,
  settings: Pick<Given<typeof keyChange>, `${Of}.${LimitName | 'atOnce'}`>,
) {
  return Object.fromEntries(limitSettings.map((name) => [name, settings[`${of}.${name}`]]))
}

function timeOf(time: TimeAt | null | undefined, nowMs: number): number | null | undefined {
  return time ? time(nowMs) : time
}

/** The members that were given, those taken away as `undefined`. */
function givenMembers(members: object): object {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries.map(([name, value]) => [name, (value as unknown) ?? undefined]))
}
