import t, { type Test } from 'tap'
import { verifySignature } from '../../../gateway/index.ts'
import { startGateway } from '../../support/gateway.ts'
import { seeded } from '../../support/seeded.ts'
import { forged, ownNames, spelled, ways } from '../../support/spellings.ts'
import { linesIn, startWire, statusOf, type Line } from '../../support/wire.ts'

const secret = 'a-secret-of-gateway-and-backend'

/** How backends read names: to the letter, as CGI and WSGI do, and as those that know letters and digits alone. */
const readings: Readonly<Record<string, (name: string) => string>> = {
  'to the letter': (name) => name.trim().toLowerCase(),
  'as CGI': (name) => name.toUpperCase().replaceAll('-', '_'),
  'by letters and digits': (name) =>
    name
      .toUpperCase()
      .replace(/[^A-Z0-9]+/g, '_')
      .replace(/^_|_$/g, ''),
}

/** The ways in which nothing arrives, whatever the name. */
const refused = [
  ...['with a line feed', 'behind a line feed', 'behind a carriage return', 'behind a NUL'],
  ...['in a fold', 'in a fold by a tab', 'folded itself', 'in the request line’s fold'],
  ...['behind a chunk', 'in the path'],
]

/** A gateway and the bytes that its backend gets, with a caller of an account and a reference, and one of neither. */
async function startCallers(t: Test, isSigned: boolean) {
  const { upstream, take } = await startWire(t)
  const gateway = await startGateway(t, {
    ...{ upstream, store: 'file: ":memory:"', upstreamMore: 'health: { unhealthyAfter: 1000000 }' },
    more: 'strangers: { perMinute: 1000000, perDay: 1000000 }',
    ...(isSigned ? { secret } : {}),
  })
  const callers = []
  for (const about of [{ account: 'acme', reference: 'cus_1' }, {}]) {
    const limits = { perMinute: 100_000, perDay: 1_000_000 }
    const { key, token } = await gateway.key({ ...about, limits })
    callers.push({ token, told: { id: key.id, plan: key.plan, ...about } })
  }
  return { url: gateway.url, take, callers }
}

/** What callers send, each with a spelling of its own, and what may be said of its caller. */
function* attempts({ callers }: Pick<Awaited<ReturnType<typeof startCallers>>, 'callers'>) {
  for (let seed = 1; seed <= 20; seed++) {
    const random = seeded(seed)
    for (const [way, bytes] of Object.entries(ways)) {
      for (const { token, told } of callers) {
        const plain = ownNames[random(ownNames.length)] ?? ''
        const values = forged[plain.startsWith('S') ? 'signature' : 'caller']
        const [name, value] = [spelled(plain, random), values[random(values.length)] ?? '']
        const open = `Host: x\r\nAuthorization: Bearer ${token}\r\nX-Callers: go on\r\n`
        const sent = Buffer.from(bytes(open, `${name}: ${value}`, name), 'latin1')
        const why = `${seed}, ${way}: ${JSON.stringify(name).slice(0, 80)}: ${value}`
        yield { why, way, name, sent, told }
      }
    }
  }
}

/** The lines that a reading takes for the gateway's about a caller. */
function aboutCaller(lines: readonly Line[], reading: (name: string) => string): readonly Line[] {
  return lines
    .map(([name, value]) => [reading(name), value] as const)
    .filter(([name]) => /^x[^a-z0-9]caller(?:[^a-z0-9]|$)/i.test(name))
    .sort()
}

/** The fields of a request, as Node joins their lines. */
function fieldsOf(lines: readonly Line[]): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [name, value] of lines) {
    const before = fields[name.toLowerCase()]
    fields[name.toLowerCase()] = before === undefined ? value : `${before}, ${value}`
  }
  return fields
}

for (const how of ['signed', 'not signed']) {
  t.test(`no spelling arrives as the gateway’s: ${how}`, async (t) => {
    const { url, take, callers } = await startCallers(t, how === 'signed')
    const spellings = new Set<string>()
    const arrived = new Set<string>()
    for (const { why, way, name, sent, told } of attempts({ callers })) {
      spellings.add(name)
      const [status, got] = [await statusOf(url, sent), take()]
      if (got === '') {
        t.match(status, /^4/, why)
        continue
      }
      arrived.add(way)
      const lines = linesIn(got)
      const fields = fieldsOf(lines)
      t.equal(fields['x-callers'], 'go on', why)
      for (const [by, reading] of Object.entries(readings)) {
        const ours = Object.entries(told).map(
          ([each, value]) => [`X-Caller-${each}`, value] as const,
        )
        t.strictSame(aboutCaller(lines, reading), aboutCaller(ours, reading), `${why}, ${by}`)
        const others = lines
          .filter(([each]) => /^SIGNATURE(?:.INPUT)?$/.test(reading(each).toUpperCase()))
          .filter(([each]) => !/^signature(?:-input)?$/i.test(each))
        t.strictSame(others, [], `${why}, ${by}`)
      }
      if (how !== 'signed') continue
      const [method = '', target = ''] = got.split(' ')
      const caller = verifySignature({ method, target, headers: fields, secret })
      t.match(caller, { ...told, claims: {} }, why)
      const named = `${fields['signature']}, ${fields['signature-input']}`
      t.equal(named.match(/(?:^|,)\s*tollgate(?![\w-])|;\s*tag="tollgate"/gi)?.length, 3, why)
    }
    t.ok(spellings.size > 800, `${spellings.size} spellings`)
    t.strictSame(
      Object.keys(ways).filter((way) => !arrived.has(way)),
      refused,
    )
  })
}
