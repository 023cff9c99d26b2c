import type { FleetState, SeenMember } from './store.ts'
import { timeText } from '../../shared/times.ts'

/** A configuration in force, and the gateways that go by it. */
export type InForce = Readonly<{
  hash: string
  members: readonly SeenMember[]
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

/** The configurations in force: the one of most gateways first, of equally many the newer one. */
export function configsInForce({ members }: Pick<FleetState, 'members'>): InForce[] {
  const byHash = new Map<string, SeenMember[]>()
  for (const member of members) {
    if (!member.config) continue
    const group = byHash.get(member.config.hash)
    if (group) group.push(member)
    else byHash.set(member.config.hash, [member])
  }
  const groups = [...byHash].map(([hash, members]) => {
    return { hash, members, sinceMs: Math.min(...members.map(sinceOf)) }
  })
  return groups.sort((a, b) => b.members.length - a.members.length || b.sinceMs - a.sinceMs)
}

/** Which configurations are in force, in one sentence, and which gateways refuse their file. */
export function inForceText(state: FleetState): string {
  const [first, ...others] = configsInForce(state)
  if (!first) return 'No gateway tells of its configuration.'
  const groups = [first, ...others]
  const count = groups.reduce((sum, { members }) => sum + members.length, 0)
  const shortened = shortener(groups)
  const refusals = refusalsOf(
    groups.filter(({ members }) => others.length === 0 || members.length > 1),
  )
  if (others.length === 0) {
    const whole = count === 1 ? 'The gateway goes' : `All ${count} gateways go`
    return [`${whole} by ${shortened(first.hash)}`, ...silentText(state), ...refusals].join('; ')
  }
  const each = groups.map((group) => {
    const [only, ...more] = group.members
    const refusal = only && more.length === 0 ? placeOf(only) : undefined
    const also = refusal === undefined ? '' : ` (refuses its file: ${refusal})`
    return `${namesOf(group.members)} ${shortened(group.hash)}${also}`
  })
  const since = timeText(state.differSinceMs ?? differenceOf(groups))
  const different = `${count} gateways run different configurations since ${since}: ${each.join(', ')}`
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
      ? 'one of another version says nothing'
      : `${silent} of another version say nothing`,
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

const { compare: inNumbers } = new Intl.Collator('en', { numeric: true })

function namesOf(members: readonly SeenMember[]): string {
  if (members.length > mostNamed) return `${members.length} gateways`
  const names = members.map(({ name }) => name).sort(inNumbers)
  const last = names.pop() ?? ''
  return names.length > 0 ? `${names.join(', ')} and ${last}` : last
}

/** Shortens hashes to as few characters as tell them apart. */
function shortener(groups: readonly InForce[]): (hash: string) => string {
  const hashes = groups.map(({ hash }) => hash)
  let length = leastHash
  const isUnique = (): boolean =>
    new Set(hashes.map((hash) => hash.slice(0, length))).size === hashes.length
  while (!isUnique()) length++
  return (hash) => (hash.length > length ? `${hash.slice(0, length)}…` : hash)
}

function sinceOf({ config }: SeenMember): number {
  return config?.sinceMs ?? 0
}
