import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Client } from 'undici'
import { plainAddress, Ranges } from './address.ts'
import { isThisMachine, unbracketed, whyInternal } from './networks.ts'

/** The addresses outside the internet that may be asked, and whether in plain http: then they alone may be. */
export type AddressRules = Readonly<{ allow: readonly string[]; isPlain?: boolean }>

/** A client of a URL that the gateway itself asks, by its rules of addresses, and the path to ask there. */
export function guardedClient(
  url: string,
  rules: AddressRules,
  connectMs: number,
  lookup = systemLookup,
) {
  const { origin, hostname, pathname, search } = new URL(url)
  const host = unbracketed(hostname)
  const isOwn = isThisMachine(hostname)
  if (isIP(host) !== 0 && !isOwn) requireAllowed([host], host, rules)
  const client = new Client(origin, {
    allowH2: false,
    connect: { timeout: connectMs, ...(isOwn ? {} : { lookup: guarded(lookup, rules) }) },
  })
  return { client, path: pathname + search }
}

/**
 * The look-up of a name that gives allowed addresses only. Connections are made to what it gives, so a name can't lead
 * elsewhere after it was checked.
 */
function guarded(lookup: typeof systemLookup, rules: AddressRules): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, [])
      try {
        const allowed = requireAllowed(
          addresses.map(({ address }) => address),
          host,
          rules,
        )
        const fit = addresses.filter(({ address }) => allowed.includes(address))
        give(fit, options.all === true, done)
      } catch (refused) {
        done(refused as Error, [])
      }
    })
  }
}

function give(
  fit: readonly LookupAddress[],
  all: boolean,
  done: Parameters<LookupFunction>[2],
): void {
  const [first] = fit
  if (all) done(null, [...fit])
  else done(null, first?.address ?? '', first?.family)
}

/** The addresses of a host to which requests may go; throws a sentence if there is none. */
function requireAllowed(
  addresses: readonly string[],
  host: string,
  { allow, isPlain = false }: AddressRules,
): readonly string[] {
  const ranges = new Ranges(allow)
  const reasons = addresses.map((each) => {
    const address = plainAddress(each)
    if (ranges.has(address)) return undefined
    const what = whyInternal(address) ?? (isPlain ? 'that is asked by https alone' : undefined)
    return what && `${address} is an address ${what}, and not in allow`
  })
  const fit = addresses.filter((_address, i) => reasons[i] === undefined)
  if (fit.length > 0) return fit
  const [why = 'it has no address'] = reasons
  throw new Error(why.startsWith(host) ? why : `${host}: ${why}`)
}
