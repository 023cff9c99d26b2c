import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { bearer, jwtSection, part, signingKey, startKeyServer } from '../support/jwt.ts'
import { root } from '../support/process.ts'
import { others, readers, type Reader } from '../support/readers.ts'

/**
 * How many times as long as an honest text any other of its length may take: what V8 hasn't compiled yet, or decodes sign by sign,
 * takes ten times as long, and is linear. Of a target of 8 KiB anything quadratic takes hundreds of times as long.
 */
const mostTimes = 20

/** What takes less is compared as this: it would be lost in the noise of a busy machine. */
const leastMs = 0.1

/** Texts that, repeated, take long in one reader or another: marks alone and together, open ones, names that begin again. */
const units = [
  ...[
    'a',
    'a/',
    '/',
    '/.',
    '..',
    'a.',
    '-',
    '_',
    '~',
    '+',
    '=',
    '%',
    '%4',
    '%41',
    '%2525',
    '%2541',
  ],
  ...[
    '%61%2',
    '%ff',
    '%C3%A4',
    '%20',
    ' ',
    '\t',
    'a ',
    'a  ',
    ',',
    'a,',
    ' ,',
    ', ',
    ';',
    '; ',
    'a;',
  ],
  ...[
    'a=;',
    'a=b;',
    ';q=',
    'a;q=1,',
    ';,',
    '=;',
    '(',
    '()',
    ')',
    '(a',
    '(),',
    '1.1 a,',
    '1.1 a (b), ',
  ],
  ...[
    '"',
    '\\',
    '\\"',
    '\\\\',
    '"\\',
    '"a"',
    '"":',
    '"a":',
    '"a":1,',
    '{',
    '{},',
    '[',
    '[],',
    '{"a":',
  ],
  ...['[{"a":', '1,', '1e9,', '"a",', '}', ']', ':', '\\u0061', '"\\u0061":1,', '0', '1.1.1.1, '],
  ...[
    '::',
    '[::1], ',
    '10.0.0.1,',
    '-00',
    ',v1=',
    'JhbGci.',
    'ImFsZy.',
    'iYWxnI.',
    'aaJhbGciaaaaaa.',
  ],
  ...[
    'aaJhbGciaaaaaa.a.a ',
    'a.a ',
    'eyJhbGciOiJ9.a.a/',
    'tg_',
    'tg_AAAAAAAAAAAA_',
    `${'a'.repeat(38)}.`,
  ],
  ...['\n', '\r\n', 'a\n', ':\n', 'data:\n', 'data:a\n', 'data:a\n\n', 'data: total_tokens\n\n'],
  ...[
    'data: {"total_tokens":1}\n\n',
    'data: {"total_tokens"\n\n',
    'data: {"total_tokens":\\u\n\n',
    'é',
  ],
  ...[
    'https://',
    'bearer ',
    'URI:"a", ',
    ', ',
    'tollgate_console',
    'tollgate_console=a;',
    ' =',
    '__Host-',
  ],
  ...['1.1 gateway.example,', 'gateway.example ', 'x_', 'W/"a",', 'br;q=0,', '"total_tokens":1,'],
]

/** Parts of which each is another. */
const counted: readonly ((i: string) => string)[] = [
  (i) => `"${i}":1,`,
  (i) => `{"${i}":1},`,
  (i) => `"\\u0061${i}":{},`,
  (i) => `${i},`,
  (i) => `${i}=1;`,
  (i) => `/${i}`,
]

function filled(longest: number, part: (i: number) => string): string {
  const parts: string[] = []
  for (let [i, length] = [0, 0]; length < longest; i++) length += (parts[i] = part(i)).length
  // One flat text, as it comes from a socket.
  return Buffer.from(parts.join('').slice(0, longest), 'latin1').toString('latin1')
}

function msOf({ read }: Reader, text: string): number {
  const beganAt = process.hrtime.bigint()
  read(text)
  return Number(process.hrtime.bigint() - beganAt) / 1e6
}

/** The least time of some: others use this machine as well. */
function leastMsOf(reader: Reader, text: string, enoughMs = 0): number {
  let least = Infinity
  for (let i = 0; i < 25 && least > enoughMs; i++) least = Math.min(least, msOf(reader, text))
  return least
}

const lengths = [...new Set(readers.map(({ longest }) => longest))]
const textsByLength = new Map(
  lengths.map((longest) => [
    longest,
    [
      ...units.map((unit) => [unit, filled(longest, () => unit)] as const),
      ...counted.map((of) => [of('N'), filled(longest, (i) => of(i.toString(36)))] as const),
    ],
  ]),
)

for (const reader of readers) {
  t.test(`${reader.name} takes no text of others for long`, (t) => {
    const { longest, plain, around, most = mostTimes } = reader
    const [[before, behind] = ['', '']] = around
    const plainMs = leastMsOf(reader, before + filled(longest, () => plain) + behind)
    const allowedMs = most * Math.max(plainMs, leastMs)
    for (const [before, behind] of around) {
      for (const [unit, text] of textsByLength.get(longest) ?? []) {
        const ms = leastMsOf(reader, before + text + behind, allowedMs)
        if (ms <= allowedMs) continue
        const times = `${ms.toFixed(3)} ms, and ${plainMs.toFixed(3)} for the plainest`
        t.fail(`${JSON.stringify([before, unit, behind])} takes ${times}`)
      }
    }
    t.end()
  })
}

t.test('every file with a regular expression is among them, or says why it is not', (t) => {
  const expression =
    /(?:[(=:,?&|!]|return)\s*\/(?![/*\s])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[dgimsuvy]*[\s,.;)\]]|new RegExp\(/
  const listed = [
    ...readers.flatMap(({ of }) => of),
    ...Object.values(others).flatMap((files) => files.match(/\S+/g) ?? []),
  ]
  // The browser's pages read in browsers, and stores what they have written.
  const elsewhere =
    /^gateway\/front\/(?:stores|portal\/page|http\/page)\/|^gateway\/office\/admin\/console\//
  const files = ['gateway/front', 'shared', 'gateway/office/admin'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => `${folder}/${name}`)
      .filter((name) => name.endsWith('.ts') && !elsewhere.test(name)),
  )
  const withExpressions = files.filter((name) =>
    expression.test(readFileSync(join(root, name), 'utf8')),
  )
  t.ok(withExpressions.length > 40)
  const missing = withExpressions.filter((name) => !listed.includes(name))
  t.strictSame(missing, [], 'add its reader, or why it needs none, to test/support/readers.ts')
  t.strictSame(
    listed.filter((name) => !files.includes(name)),
    [],
    'files that are gone',
  )
  t.end()
})

/** The processor time of some requests, one after the other, of the whole process. */
async function msFor(ask: () => Promise<unknown>, times: number): Promise<number> {
  let least = Infinity
  for (let round = 0; round < 4; round++) {
    const before = process.cpuUsage()
    for (let i = 0; i < times; i++) await ask()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1_000)
  }
  return least
}

t.test('no token of a stranger costs much more than any other', async (t) => {
  const server = await startKeyServer(t, [signingKey('ES256')])
  const log = { level: 'info', target: { write: () => undefined } }
  const { call } = await startGateway(t, { more: jwtSection(server.url), log })
  const ask = (token: string, path = '/v1/x') =>
    msFor(() => call('GET', path, undefined, bearer(token)), 25)
  const head = part('{"alg":"ES256"}')
  const plainMs = await ask('x'.repeat(8_000))
  const tokens: Record<string, string> = {
    'open quotes': `${head}.${part(`{"a":"${'\\"'.repeat(2_950)}`)}.x`,
    brackets: `${head}.${part('['.repeat(5_900))}.x`,
    names: `${head}.${part(`{${Array.from({ length: 600 }, (_, i) => `"${i}":1`).join()}}`)}.x`,
    'quotes in its header': `${part(`{"alg":"a","b":"${'\\"'.repeat(2_950)}`)}.e30.x`,
  }
  for (const [what, token] of Object.entries(tokens)) {
    const ms = await ask(token)
    t.ok(ms < mostTimes * plainMs, `${what}: ${ms} ms, and ${plainMs} for a plain one`)
  }
  const ms = await ask('x', `/v1/${'JhbGci......'.repeat(650)}`)
  t.ok(ms < mostTimes * plainMs, `a path like tokens: ${ms} ms`)
})

t.test('no body of a backend costs much more than any other of its size', async (t) => {
  const size = 1_048_000
  const event = {
    type: 'text/event-stream',
    plain: `data: ${JSON.stringify({ x: 'x'.repeat(100) })}\n\n`,
  }
  const list = { type: 'application/json', plain: '{"id":1,"name":"a"},' }
  const bodies: Record<string, readonly [type: string, text: string]> = {
    events: [event.type, event.plain.repeat(size / event.plain.length)],
    'events that are no JSON': [event.type, 'data: total_tokens\n\n'.repeat(size / 20)],
    'events of nothing': [event.type, 'data:\n\n'.repeat(size / 7)],
    JSON: [list.type, `[${list.plain.repeat(size / 20)}{"total_tokens":1}]`],
    brackets: [list.type, `"total_tokens"${'['.repeat(size)}`],
  }
  const upstream = await startUpstream(t, ({ url = '' }, response) => {
    const [type, text] = bodies[decodeURIComponent(url.slice(4))] ?? ['', '']
    response.setHeader('content-type', type).end(text)
  })
  const { call, key } = await startGateway(t, {
    upstream,
    more: 'plans: { free: { perMinute: unlimited, perDay: unlimited } }',
    routes: `[ { path: /v1/*, upstream: animals, cost: { estimate: 1, from: { json: /usage/total_tokens } } } ]`,
  })
  const { headers } = await key()
  const ask = (what: string) =>
    msFor(() => call('GET', `/v1/${encodeURIComponent(what)}`, undefined, headers), 2)
  const plainMs = { events: await ask('events'), JSON: await ask('JSON') }
  for (const [what, [type]] of Object.entries(bodies)) {
    const [ms, than] = [await ask(what), type === list.type ? plainMs.JSON : plainMs.events]
    t.ok(ms < mostTimes * than, `${what}: ${ms} ms, and ${than} for a plain one`)
  }
})
