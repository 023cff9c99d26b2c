import fc from 'fast-check'
import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { clientAddress, neighbourhoodOf, Ranges } from '../../gateway/front/http/address.ts'
import { headersForBackend } from '../../gateway/front/forwarding/headers.ts'

// FUZZ_SECONDS=600 FUZZ_SEED=7 npm test -- test/fleet/fuzz-headers.test.ts

const seconds = Number(process.env['FUZZ_SECONDS'] ?? 5)
const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_120)

const runs = { seed, numRuns: 500 * seconds }

t.test('the address of a caller is what the nearest proxy says, whatever stands before it', (t) => {
  const trusted = new Ranges(['10.0.0.0/8', 'fd00::/8'])
  const ipv4 = fc
    .tuple(fc.constantFrom(1, 9, 11, 127, 203), fc.nat(255), fc.nat(255), fc.nat(255))
    .map((parts) => parts.join('.'))
  const hex = (address: string): string => {
    const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  }
  const spelled = ipv4.chain((address) =>
    fc
      .constantFrom(
        address,
        `${address}:443`,
        `::ffff:${address}`,
        `[::ffff:${address}]:80`,
        `::FFFF:${hex(address)}`,
        `0:0:0:0:0:ffff:${hex(address)}`,
        `  ${address} `,
      )
      .map((written) => ({ address, written })),
  )
  const anything = fc.array(
    fc.oneof(fc.string({ unit: 'binary-ascii', maxLength: 20 }), ipv4, fc.constant('10.1.1.1')),
    { maxLength: 40 },
  )
  const proxies = fc.array(fc.constantFrom('10.0.0.2', '10.9.9.9:1234', '[fd00::1]', 'fd00::2'), {
    maxLength: 18,
  })
  fc.assert(
    fc.property(anything, spelled, proxies, (before, { address, written }, between) => {
      const header = [...before, written, ...between].join(',')
      const sender = {
        socket: { remoteAddress: '10.0.0.1' },
        headers: { 'x-forwarded-for': header },
      }
      return clientAddress(sender, trusted) === address
    }),
    runs,
  )
  fc.assert(
    fc.property(
      fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }),
      fc.boolean(),
      (groups, isLarge) => {
        // Mapped IPv4 is another matter.
        groups[5] = 1
        const text = groups.map((group) => group.toString(16))
        const long = text.map((group) => group.padStart(4, '0')).join(':')
        const short = new URL(`http://[${text.join(':')}]`).hostname.slice(1, -1)
        const names = [text.join(':'), long, short].map((each) =>
          neighbourhoodOf(isLarge ? each.toUpperCase() : each),
        )
        return new Set(names).size === 1 && names[0] === `${text.slice(0, 4).join(':')}::/64`
      },
    ),
    runs,
  )
  t.pass(`${runs.numRuns} of each, seed ${seed}`)
  t.end()
})

t.test('no spelling of a name takes it past the gateway', (t) => {
  const names = [
    'authorization',
    'cookie',
    'x-caller-id',
    'x-caller-plan',
    'x-gateway-signature',
    'x-forwarded-for',
    'forwarded',
    'x-real-ip',
    'proxy-authorization',
    'remote-user',
    'client-ip',
    'x-request-id',
  ]
  const joint = fc.string({
    unit: fc.constantFrom(..."-_.~+!#$%&'*^|`"),
    minLength: 1,
    maxLength: 3,
  })
  const passed = (name: string): boolean => {
    const asked = { rawHeaders: [name, 'x'], headers: {} } as unknown as IncomingMessage
    return headersForBackend(asked, false).includes(name)
  }
  fc.assert(
    fc.property(
      fc.constantFrom(...names),
      fc.array(joint, { minLength: 6, maxLength: 6 }),
      fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }),
      fc.boolean(),
      (name, joints, capitals, isWrapped) => {
        const words = name.split('-')
        const joined = words.map((word, i) => (i === 0 ? word : `${joints[i]}${word}`)).join('')
        const cased = [...joined]
          .map((char, i) => (capitals[i % 40] ? char.toUpperCase() : char))
          .join('')
        return !passed(isWrapped ? `${joints[4]}${cased}${joints[5]}` : cased)
      },
    ),
    runs,
  )
  for (const name of ['X-Order-Id', 'Accept', 'traceparent', 'If-None-Match', 'X-Callers'])
    t.ok(passed(name), name)
  t.end()
})
