import type { lookup as systemLookup, LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { plainAddress, Ranges } from './address.ts'
import { whyInternal } from './networks.ts'

/** The addresses outside the internet that may be asked, and whether in plain http: then they alone may be. */
export type AddressRules = Readonly<{ allow: readonly string[]; isPlain?: boolean }>

/**
 * The look-up of a name that gives allowed addresses only. Connections are made to what it gives, so a name can't lead
 * elsewhere after it was checked.
 */
export function guarded(lookup: typeof systemLookup, rules: AddressRules): LookupFunction {
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
export function requireAllowed(
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
