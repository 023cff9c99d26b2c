import { andMore } from '../../../shared/and-more.ts'
import { withCommas } from '../../../shared/commas.ts'
import { windows } from '../../../shared/windows.ts'
import { endText } from '../../../shared/times.ts'
import { earnedText } from '../../front/limits/ban-ends.ts'
import type { Act, Change } from '../../front/records/audit-store.ts'
import { changedMembers, membersOf } from '../../front/records/changed-members.ts'
import { changesText } from './changes-text.ts'

/** A change, and the name of the key that it is of; `undefined` for a change of something else. With an act, it stands for that. */
export type NamedChange = Change & Readonly<{ name?: string | undefined; act?: Act | undefined }>

/** The most changed members that a sentence tells; the values before and after are beside it. */
const mostMembers = 3

/** A change in one sentence behind its author, such as `created “Mike” (plan free, account mike)`. */
export function changeSentence(change: NamedChange): string {
  const { what, subject, before, after } = change
  const say = sentences[what]
  if (say) return say(factsOf(change))
  const changes = changesText(before, after, { most: mostMembers })
  return `${what} ${subject}${changes === '' ? '' : `: ${changes}`}`
}

type Facts = ReturnType<typeof factsOf>

function factsOf({ subject, before, after, name, act }: NamedChange) {
  const [old, now] = [membersOf(before), membersOf(after)]
  if (isOfMany(act)) {
    const of = act.account === undefined ? '' : ` of the account ${act.account}`
    // An act has the number of its keys and their first names.
    const key = `${counted(act.keys, 'key')}${of}${namesText(act.names, act.keys)}`
    return { subject, key, isOfMany: true, old, now }
  }
  // A change of the key itself has the name of its time.
  const key = `“${text(now['name'] ?? old['name'] ?? name) || subject}”`
  return { subject, key, isOfMany: false, old, now }
}

/** Whether a change stands for an act on several keys. */
export function isOfMany(act: Act | undefined): act is Act {
  return act !== undefined && act.keys > 1
}

function namesText(names: readonly string[], count: number): string {
  if (names.length === 0) return ''
  const more = count > names.length ? ` ${andMore(count - names.length)}` : ''
  return ` (${names.map((name) => `“${name}”`).join(', ')}${more})`
}

const sentences: Readonly<Record<string, (facts: Facts) => string>> = {
  'keys.create': ({ key, now }) => `created ${key} (${whose(now)})`,
  'keys.import': ({ key, subject, now: { imported, names } }) => {
    const all = counted(imported, 'key')
    if (subject !== 'keys') return `imported ${key}, one of ${all}`
    return `imported ${all}${Array.isArray(names) ? namesText(names.map(text), Number(imported)) : ''}`
  },
  'keys.first': ({ now }) =>
    `recorded ${counted(now['count'], 'new caller')} of ${text(now['issuer'])}`,
  'keys.forget': ({ now }) =>
    `removed ${counted(now['count'], 'record')} of callers who were not seen for 90 days`,
  'keys.change': ({ key, old, now, isOfMany }) =>
    `changed ${key}${list(settings(old), settings(now), isOfMany)}`,
  'keys.disable': ({ key }) => `disabled ${key}`,
  'keys.enable': ({ key }) => `enabled ${key}`,
  'keys.revoke': ({ key }) => `revoked ${key}`,
  'keys.rotate': ({ key, now }) =>
    `rotated the token of ${key}${until(', the old one works until', now['oldTokenUntil'])}`,
  'bans.earn': ({ key, now: { until: end, strikes } }) =>
    `banned ${key}${until(' until', end)}: ${earnedText(typeof strikes === 'number' ? strikes : undefined)}`,
  'bans.set': ({ key, now }) => `banned ${key}${until(' until', now['until'])}${noteText(now)}`,
  'bans.lift': ({ key }) => `lifted the ban of ${key}`,
  'quota.places': ({ key }) => `freed the places of the requests under way of ${key}`,
  'quota.reset': ({ key, old }) => `reset the counters of ${key}: ${usedText(old)}`,
  'quota.grant': ({ key, now }) => `granted ${key} ${granted(now)}${noteText(now)}`,
  'quota.top-up': ({ key, now }) => `${bought(now)} ${key} (${text(now['id'])})${noteText(now)}`,
  'quota.month': ({ key, old, now }) =>
    `moved the billing day of ${key} from ${text(old['monthFrom'])} to ${text(now['monthFrom'])}`,
  'config.change': ({ subject, old, now }) =>
    limitsOfPlans(old, now) ?? `changed ${subject}${list(old, now)}`,
  'swap.begin': ({ subject }) => `began the swap of ${subject}`,
  'swap.step': ({ subject, now }) => `took the swap of ${subject} to ${stepText(now)}`,
  'swap.pause': ({ subject }) => `paused the swap of ${subject}`,
  'swap.resume': ({ subject }) => `resumed the swap of ${subject}`,
  'swap.finish': ({ subject }) => `sent all callers of ${subject} to the new targets`,
  'swap.back': ({ subject, now }) => `sent all callers of ${subject} back${why(now)}`,
  'swap.refused': ({ subject, now }) => `refused the swap of ${subject}${why(now)}`,
  'upstreams.check': ({ subject, now }) => `checked ${text(now['url'])} for ${subject}`,
  'gateways.differ': () => 'noticed that the gateways run different configurations',
  'gateways.agree': () => 'noticed that the gateways run one configuration again',
  'store.copy': ({ subject, now }) => `copied ${text(now['from'])} to ${subject}`,
  'store.load': ({ subject, now }) => `loaded ${text(now['from'])} into ${subject}`,
  'console.sign-in': ({ now }) =>
    `signed in at the console, with the role ${text(now['role'])}, from ${text(now['address'])}`,
  'console.refused': ({ now }) =>
    `refused a wrong token at the console, from ${text(now['address'])}${now['droppedLines'] ? `, and ${counted(now['droppedLines'], 'other')} before` : ''}`,
}

/** The limits of plans that were raised and lowered; `undefined` if anything else has changed, too. */
function limitsOfPlans(old: Facts['old'], now: Facts['now']): string | undefined {
  const changes = changedMembers(old, now).map((place) => {
    const [, plan, limit] = /^plans\.(.+)\.(\w+)$/.exec(place) ?? []
    const window = windows.find((each) => each.limit === limit)
    const [before, after] = [old[place], now[place]]
    if (!window || typeof before !== 'number' || typeof after !== 'number') return undefined
    const verb = after > before ? 'raised' : 'lowered'
    return `${verb} ${plan} to ${withCommas(after)} ${window.each}`
  })
  return changes.length > 0 && changes.every((each) => each !== undefined)
    ? changes.join(' and ')
    : undefined
}

/** The settings of a key: without the members that follow from others. */
function settings(view: Record<string, unknown>): object {
  return { ...view, state: undefined }
}

function whose({ plan, account }: Record<string, unknown>): string {
  return [`plan ${text(plan)}`, ...(account ? [`account ${text(account)}`] : [])].join(', ')
}

function list(before: unknown, after: unknown, isOfMany = false): string {
  const changes = changesText(before, after, { most: mostMembers, isOfMany })
  return changes === '' ? '' : `: ${changes}`
}

function until(words: string, end: unknown): string {
  const ms = Date.parse(text(end))
  return Number.isNaN(ms) ? '' : `${words} ${endText(ms)}`
}

function used(window: unknown): string {
  const { used } = membersOf(window)
  return `${typeof used === 'number' ? withCommas(used) : 'unknown'} used`
}

function usedText(standing: Record<string, unknown>): string {
  return windows
    .filter(({ name, isRequired }) => isRequired || standing[name])
    .map(({ name }) => `${used(standing[name])} this ${name}`)
    .join(', ')
}

function granted(grant: Record<string, unknown>): string {
  return windows
    .filter(({ limit }) => grant[limit])
    .map(({ limit, name }) => `${counted(grant[limit], 'point')} for this ${name}`)
    .join(' and ')
}

function bought({ points }: Record<string, unknown>): string {
  const isTaken = typeof points === 'number' && points < 0
  const many = counted(isTaken ? -points : points, 'bought point')
  return isTaken ? `took ${many} from` : `added ${many} to`
}

function noteText({ note }: Record<string, unknown>): string {
  return note ? `: ${text(note)}` : ''
}

function stepText({ step }: Record<string, unknown>): string {
  return typeof step === 'number' ? `step ${step + 1}` : 'its next step'
}

function why({ why }: Record<string, unknown>): string {
  return why ? `: ${text(why)}` : ''
}

function counted(number: unknown, noun: string): string {
  return `${typeof number === 'number' ? withCommas(number) : text(number)} ${noun}${number === 1 ? '' : 's'}`
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
