import { isMap } from 'yaml'
import { nearest } from '../../../../shared/near.ts'
import { section } from '../../../front/http/page/sections.ts'
import { nameOf } from '../check.ts'
import { soundParts, type KnownFile } from '../defaults.ts'
import type { ConfigDocument } from '../document.ts'
import type { Mistake, Path } from '../mistake.ts'
import * as addresses from './addresses.ts'
import * as certificates from './certificates.ts'
import { decideRemarks } from './decide.ts'
import { deprecationRemarks } from './deprecations.ts'
import { entriesIn } from './entries.ts'
import { jwtRemarks } from './jwt.ts'
import { keyHeaderRemarks } from './keys.ts'
import * as limits from './limits.ts'
import { noticeRemarks } from './notices.ts'
import { portalRemarks } from './portal.ts'
import { mistake, type Check, type Checked, type Remark } from './remarks.ts'
import * as restrictions from './restrictions.ts'
import { routeRemarks } from './routes.ts'
import * as times from './times.ts'
import * as upstreams from './upstreams.ts'

export type World = Pick<Checked, 'files' | 'adminToken'> &
  Readonly<{
    /** Whether it is of a gateway, and must have `routes`. */
    needsRoutes: boolean
  }>

/** All checks but those of routes, in the order in which mistakes at one place are told. */
const checks: readonly Check[] = [
  addresses.addressRemarks,
  addresses.trustRemarks,
  decideRemarks,
  times.workerRemarks,
  limits.planRemarks,
  limits.digitRemarks,
  limits.limitRemarks,
  restrictions.operationRemarks,
  limits.shadowRemarks,
  limits.prepaidRemarks,
  times.banRemarks,
  keyHeaderRemarks,
  times.stopRemarks,
  certificates.cipherRemarks,
  certificates.upstreamTlsRemarks,
  certificates.certificateRemarks,
  portalRemarks,
  limits.costRemarks,
  limits.answerCostRemarks,
  upstreams.swapRemarks,
  upstreams.cookieRemarks,
  upstreams.headerRemarks,
  upstreams.probeRemarks,
  upstreams.unusedRemarks,
  restrictions.restrictionRemarks,
  deprecationRemarks,
  jwtRemarks,
  noticeRemarks,
  addresses.proxyRemarks,
  addresses.originRemarks,
]

/**
 * Mistakes in which several settings contradict each other or the machine, and warnings of settings that work but make
 * no sense. If the routes have mistakes, checks that depend on routes are left out.
 */
export function contradictionsIn(
  document: ConfigDocument,
  /** The offsets of all other mistakes. */
  others: ReadonlySet<number>,
  { needsRoutes, ...world }: World,
): Mistake[] {
  const { places } = document
  const written = section(document.knownValues())
  const file = soundParts(written)
  const quote = (path: Path): string => document.wordAt(path) ?? textAt(file, path)
  const at = ({ path, sentence, isWarning = false }: Remark): Mistake => ({
    offset: places.offsetOf(path),
    path,
    sentence: () => `${nameOf(path)} ${sentence}`,
    isWarning,
  })
  const entries = entriesIn(file)
  const hasRoutes = Object.keys(written).some((name) => nearest(name, ['routes']))
  const isRouteless = needsRoutes && isMap(document.root) && !hasRoutes
  const ofRoutes = isRouteless
    ? [at(mistake(['routes'], 'is missing'))]
    : [...routeRemarks({ file, quote }, entries)].map(at)
  const offsets = [...others, ...ofRoutes.map(({ offset }) => offset)]
  const soundEntries = places.hasOneIn(['routes'], offsets) ? undefined : entries
  const checked: Checked = { ...world, file, written, quote, entries: soundEntries }
  return [...ofRoutes, ...checks.flatMap((check) => [...check(checked)]).map(at)]
}

/** A number that is written in a section, or a default, as messages quote it. */
function textAt(file: KnownFile, path: Path): string {
  const value = path.reduce<unknown>((within, step) => section(within)[step], file)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
