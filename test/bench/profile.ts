import { load } from './load.ts'
import type { Say, Settings } from './measure.ts'
import type { Spent } from './profiler.ts'
import { started } from './server.ts'
import { withStage } from './stage.ts'
import { tableOf } from './tables.ts'

const warmUp = 40_000

/** Parts that take less are left out. */
const leastMicros = 0.25

/** Where the loop of a gateway spends the time of a request. */
export type Profile = Readonly<{
  name: string
  /** Microseconds a request by part, the dearest first. */
  parts: readonly (readonly [part: string, micros: number])[]
}>

/** Where the time goes by the file and the name of a function; the first pattern that fits decides. */
const parts: readonly (readonly [fits: RegExp, part: string])[] = [
  [/^ write\w*String$|^ write(v|Buffer)$/, 'the system’s writes'],
  [/^ \(garbage collector\)/, 'collections'],
  [/^ \(program\)/, 'reading, and Node’s native code'],
  [/better-sqlite3|front\/stores\/embedded/, 'SQLite, and what is written there'],
  [/node_modules\/undici|^wasm:/, 'undici'],
  [/node_modules\/(?:fastify|find-my-way|toad-cache)/, 'Fastify'],
  [/gateway\/front\/counts/, 'Tollgate: counting'],
  [/gateway\/front\/limits/, 'Tollgate: limits'],
  [/gateway\/front\/forwarding/, 'Tollgate: forwarding'],
  [/gateway\/|shared\//, 'Tollgate: all else'],
  [/./, 'Node’s HTTP and streams'],
]

/** Looks where the time of a forwarded and of a refused request goes, of an embedded gateway with 10,000 keys. */
export async function benchProfile(
  { rounds, seconds, connections }: Settings,
  say: Say,
  progress: Say,
): Promise<readonly Profile[]> {
  const profiles: Profile[] = []
  await withStage(async ({ inRedis, embedded, known, full }) => {
    const about = [
      ['a forwarded request, embedded', embedded, known],
      ['a forwarded request, Redis', inRedis, known],
      ['a 429, Redis: the window is full', inRedis, full],
    ] as const
    for (const [name, { server }, request] of about) {
      progress(name)
      const { url, profile, end } = await started({ ...server, isProfiled: true })
      await load({ url, connections, seconds: 0, atLeast: warmUp, request })
      const measured = { url, connections, seconds: rounds * seconds, request }
      const [{ requests }, spent] = await profile(() => load(measured))
      await end()
      profiles.push({ name, parts: partsOf(spent, requests) })
    }
  })
  for (const { name, parts } of profiles) {
    const all = sumOf(parts)
    const table = tableOf(parts, [
      [name, ([part]) => part],
      ['µs', ([, micros]) => micros.toFixed(1)],
      ['share', ([, micros]) => `${((micros / all) * 100).toFixed(0)} %`],
    ])
    say(`\n${table}`)
  }
  return profiles
}

export function partsOf(spent: readonly Spent[], requests: number): Profile['parts'] {
  const micros = new Map<string, number>()
  for (const [file, name, each] of spent) {
    if (name === '(idle)') continue
    const [, part = ''] = parts.find(([fits]) => fits.test(`${file} ${name}`)) ?? []
    micros.set(part, (micros.get(part) ?? 0) + each / requests)
  }
  const dear = [...micros].filter(([, each]) => each >= leastMicros)
  return dear.sort(([, one], [, other]) => other - one)
}

export function sumOf(parts: Profile['parts']): number {
  return parts.reduce((sum, [, micros]) => sum + micros, 0)
}
