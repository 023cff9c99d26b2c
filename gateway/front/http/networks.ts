import { Ranges } from './address.ts'

/** Networks that aren't the internet. Requests of the gateway's own go there only where its configuration allows it. */
const internal: readonly (readonly [what: string, ...ranges: string[]])[] = [
  ['of this machine', '127.0.0.0/8', '::1', '0.0.0.0/8', '::'],
  [
    'of a private network',
    ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7', 'fec0::/10'],
  ],
  ['of one link, where machines tell their secrets', '169.254.0.0/16', 'fe80::/10'],
  ['of a cloud’s own machines', '168.63.129.16'],
  [
    'of a translated network, which may lead anywhere',
    ...['64:ff9b::/96', '2002::/16', '2001::/32', '::/96', '::ffff:0:0:0/96'],
  ],
  ['that reaches no single machine', '224.0.0.0/4', '240.0.0.0/4', 'ff00::/8'],
  [
    'that is kept for documents and tests',
    ...['192.0.0.0/24', '192.0.2.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
    ...['192.88.99.0/24', '64:ff9b:1::/48', '100::/64', '100:0:0:1::/64', '2001::/23'],
    ...['2001:db8::/32', '3fff::/20', '5f00::/16'],
  ],
]

const [[, ...ofThisMachine] = []] = internal
const networks = internal.map(([what, ...ranges]) => ({ what, ranges: new Ranges(ranges) }))
const loopback = new Ranges(ofThisMachine.filter((range) => !/^(?:0\.|::$)/.test(range)))

/** Why an address isn't one of the internet, such as `of a private network`; `undefined` if it is. */
export function whyInternal(address: string): string | undefined {
  return networks.find(({ ranges }) => ranges.has(address))?.what
}

/** Whether a host as URLs spell it is this machine by its own name. */
export function isThisMachine(host: string): boolean {
  const plain = unbracketed(host)
  return plain === 'localhost' || loopback.has(plain)
}

/** Whether a name is one that only an internal network knows. */
export function isInternalName(host: string): boolean {
  const plain = host.replace(/\.$/, '')
  return !plain.includes('.') || /\.(?:internal|local|localhost|lan|home\.arpa)$/.test(plain)
}

/** A host without the brackets of an IPv6 address. */
export function unbracketed(host: string): string {
  return host.replace(/^\[|\]$/g, '')
}
