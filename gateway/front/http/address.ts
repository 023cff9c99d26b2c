import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'

/** Ranges of addresses, written as single addresses or in CIDR form. */
export class Ranges {
  /** None where there are no ranges: a collection of garbage looks at each list, and most keys have no ranges. */
  #list: BlockList | undefined

  /** Throws a sentence about the first invalid range. */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) this.#add(range)
  }

  /** Whether an address is in one of the ranges. A text that isn't an address is in none. */
  has(address: string): boolean {
    return this.#list?.check(address, isIPv6(address) ? 'ipv6' : 'ipv4') ?? false
  }

  #add(range: string): void {
    const [address = '', bits, more] = range.split('/')
    const version = isIP(address)
    const widest = version === 6 ? 128 : 32
    const prefix = bits === undefined ? widest : /^\d{1,3}$/.test(bits) ? Number(bits) : Infinity
    if (version === 0 || prefix > widest || more !== undefined) {
      throw new Error(
        `"${range}" is neither an address nor a range such as 10.0.0.0/8 or 2001:db8::/32`,
      )
    }
    this.#list ??= new BlockList()
    this.#list.addSubnet(address, prefix, version === 6 ? 'ipv6' : 'ipv4')
  }
}

/** The number of hops of `X-Forwarded-For` that are read from the right. Nobody vouches for those before. */
const mostHops = 20

/** Stands for an address from a trusted proxy that can't be read. It is in no range. */
export const unreadableAddress = 'unreadable'

/** The parts of a request that show its sender; for a request that can't be parsed, the socket alone. */
export type Sender = Readonly<{
  socket: Readonly<{ remoteAddress?: string | undefined }>
  headers?: IncomingHttpHeaders
}>

/**
 * The address of a request's sender: that of its socket or, behind trusted proxies, the right-most one of
 * `X-Forwarded-For` that isn't a proxy's. An unreadable one never counts as the proxy's own address, because a key
 * may be restricted to the proxy's network.
 */
export function clientAddress(sender: Sender, trusted: Ranges): string {
  const peer = peerOf(sender)
  return trusted.has(peer) ? addressBehind(sender, trusted) : peer
}

/** Finds the addresses of senders. Who asks for decisions is a proxy, whatever its address. */
export function senderFinder(trusted: Ranges, asking: string | undefined) {
  const find = asking === undefined ? clientAddress : addressBehind
  return (sender: Sender): string => find(sender, trusted)
}

function addressBehind(sender: Sender, trusted: Ranges): string {
  let address = peerOf(sender)
  const forwardedFor = sender.headers?.['x-forwarded-for']?.toString()
  if (forwardedFor === undefined) return address
  let end = forwardedFor.length
  for (let hops = 0; hops < mostHops && end >= 0; hops++) {
    const comma = end > 0 ? forwardedFor.lastIndexOf(',', end - 1) : -1
    address = hopAddress(forwardedFor.slice(comma + 1, end).trim())
    if (!trusted.has(address)) return address
    end = comma
  }
  return address
}

function peerOf({ socket }: Sender): string {
  return plainAddress(socket.remoteAddress ?? '')
}

/** The address of a hop. Some proxies add a port, brackets or both. */
export function hopAddress(hop: string): string {
  const bare =
    /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(hop)?.[1] ?? hop
  return isIP(bare) === 0 ? unreadableAddress : plainAddress(bare)
}

/** Turns an IPv4 address that is mapped into IPv6, in any notation, into a plain one. */
export function plainAddress(address: string): string {
  // Most are IPv4, or mapped in Node's notation. Others are parsed only if they may be mapped.
  if (!address.includes(':')) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !/ffff:/i.test(address) || !isIPv6(address)) return mapped ?? address
  const groups = groupsOf(address)
  if (groups.slice(0, 5).some((group) => group !== 0) || groups[5] !== 0xffff) return address
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.')
}

/** The name under which strangers are counted: an IPv4 address, or an IPv6 /64, which one customer has. */
export function neighbourhoodOf(address: string): string {
  if (!isIPv6(address)) return address
  const network = groupsOf(address).slice(0, 4)
  return `${network.map((group) => group.toString(16)).join(':')}::/64`
}

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::')
  const [front, back] = [groupsIn(head), groupsIn(tail ?? '')]
  const between = tail === undefined ? 0 : 8 - front.length - back.length
  return [...front, ...Array<number>(Math.max(0, between)).fill(0), ...back]
}

function groupsIn(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}
