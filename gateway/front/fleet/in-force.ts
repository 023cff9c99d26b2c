import type { FleetState, Member, MemberConfig, SeenMember } from './store.ts'
import { timeText } from '../../../shared/times.ts'

/** Gateways that go by one configuration. Their files may differ in what each machine has for itself. */
export type Alike<Each> = Readonly<{
  /** The hash of the first gateway's file. */
  hash: string
  isOneFile: boolean
  /** By their names. */
  members: readonly Each[]
}>

/** A gateway, as far as it is compared with others. */
type Compared = Pick<Member, 'id' | 'name'> &
  Readonly<{ config?: Pick<MemberConfig, 'hash' | 'sharedHash'> | null | undefined }>

/** A configuration in force, and the gateways that go by it. */
export type InForce = Alike<SeenMember> &
  Readonly<{
    /** The time at which the first of them began. */
    sinceMs: number
  }>

/** The least characters of a hash in a sentence. */
const leastHash = 4

/** The most gateways that a sentence names. */
const mostNamed = 3

/** The same gateways; several of one name get host and process behind it. */
export function toldApart(state: FleetState): FleetState {
  const isAlone = (name: string): boolean =>
    state.members.filter((each) => each.name === name).length === 1
  const members = state.members.map((member) => {
    const { id, name, host, pid } = member
    if (isAlone(name)) return member
    return { ...member, name: `${name} (${pid === undefined ? id.slice(0, 8) : `${host}:${pid}`})` }
  })
  return { ...state, members }
}

/** Gateways in groups of those that go by one configuration, without those that have one of their own. */
export function byConfiguration<Each extends Compared>(all: readonly Each[]): Alike<Each>[] {
  const configured = all.filter(({ config }) => config).sort(byName)
  const groups = Map.groupBy(configured, ({ config }) => config?.sharedHash)
  return [...groups.values()].map((members) => {
    const hashes = new Set(members.map(({ config }) => config?.hash))
    const [hash = ''] = hashes
    return { hash, isOneFile: hashes.size === 1, members }
  })
}

/** The configurations in force: the one of most gateways first, of equally many the newer one. */
export function configsInForce({ members }: Pick<FleetState, 'members'>): InForce[] {
  const groups = byConfiguration(members).map((group) => {
    return { ...group, sinceMs: Math.min(...group.members.map(sinceOf)) }
  })
  return groups.sort((a, b) => b.members.length - a.members.length || b.sinceMs - a.sinceMs)
}

/** Which configurations are in force, in one sentence, and which gateways refuse their file. */
export function inForceText(state: FleetState): string {
  const [first, ...others] = configsInForce(state)
  if (!first) return 'No gateway reports its configuration.'
  const groups = [first, ...others]
  const count = groups.reduce((sum, { members }) => sum + members.length, 0)
  const shortened = shortener(groups)
  const refusals = refusalsOf(
    groups.filter(({ members }) => others.length === 0 || members.length > 1),
  )
  if (others.length === 0) {
    const whole = count === 1 ? 'The gateway runs' : `All ${count} gateways run`
    return [`${whole} ${shortened(first)}`, ...silentText(state), ...refusals].join('; ')
  }
  const sentences = groups.map((group) => {
    const [only, ...more] = group.members
    const refusal = only && more.length === 0 ? placeOf(only) : undefined
    const also = refusal === undefined ? '' : ` (refuses its file: ${refusal})`
    return `${namesOf(group.members)} ${shortened(group)}${also}`
  })
  const since = timeText(state.differSinceMs ?? differenceOf(groups))
  const different = `${count} gateways run different configurations since ${since}: ${sentences.join(', ')}`
  return [different, ...silentText(state), ...refusals].join('; ')
}

/** The time at which the second configuration came. */
function differenceOf(groups: readonly InForce[]): number {
  const [, second = 0] = groups.map(({ sinceMs }) => sinceMs).sort((a, b) => a - b)
  return second
}

/** Gateways of another version, which count and say nothing. */
function silentText({ silent }: FleetState): string[] {
  if (silent === 0) return []
  return [
    silent === 1
      ? 'a gateway of another version doesn’t say which it runs'
      : `${silent} gateways of another version don’t say which they run`,
  ]
}

/** The gateways that refuse their files, as far as the rest of the sentence doesn't name them. */
function refusalsOf(groups: readonly InForce[]): string[] {
  const refusing = groups
    .flatMap(({ members }) => members)
    .filter(({ config }) => config?.refusal !== undefined)
  const [only, ...more] = refusing
  if (!only) return []
  if (more.length === 0) return [`${only.name} refuses its file: ${placeOf(only)}`]
  return [`${namesOf(refusing)} refuse their files`]
}

/** The line of a gateway's first mistake; the whole sentence if it has no line. */
function placeOf({ config }: SeenMember): string | undefined {
  const [, line] = /:(\d+):\d+: /.exec(config?.refusal ?? '') ?? []
  return line === undefined ? config?.refusal : `line ${line}`
}

/** By name, with numbers in it as numbers. */
export function byName(a: Compared, b: Compared): number {
  return inNumbers(a.name, b.name) || (a.id < b.id ? -1 : 1)
}

function inNumbers(a: string, b: string): number {
  const [first, second] = [padded(a), padded(b)]
  return first < second ? -1 : first > second ? 1 : 0
}

function padded(name: string): string {
  return name.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(20, '0'))
}

function namesOf(members: readonly SeenMember[]): string {
  if (members.length > mostNamed) return `${members.length} gateways`
  const names = members.map(({ name }) => name).sort(inNumbers)
  const last = names.pop() ?? ''
  return names.length > 0 ? `${names.join(', ')} and ${last}` : last
}

/** Makes the text of a configuration: its hash, with as few characters as tell all of them apart. */
function shortener(groups: readonly InForce[]): (group: InForce) => string {
  const hashes = new Set(groups.map(({ hash }) => hash))
  let length = leastHash
  const isUnique = (): boolean =>
    new Set([...hashes].map((hash) => hash.slice(0, length))).size === hashes.size
  while (!isUnique()) length++
  return ({ hash, isOneFile }) => {
    const short = hash.length > length ? `${hash.slice(0, length)}…` : hash
    return isOneFile ? short : `${short} (files differ in name, listen, admin or layout)`
  }
}

function sinceOf({ config }: SeenMember): number {
  return config?.sinceMs ?? 0
}
