import { isMap } from 'yaml'
import { nearest } from '../../../../shared/near.ts'
import { nameOf } from '../check.ts'
import { completed } from '../defaults.ts'
import type { ConfigDocument } from '../document.ts'
import type { Mistake, Path } from '../mistake.ts'
import type { NamedFiles } from '../named-files.ts'
import { fileSchema } from '../schema.ts'
import { addressRemarks, originRemarks, rangeRemarks, trustRemarks } from './addresses.ts'
import { certificateRemarks, cipherRemarks, upstreamTlsRemarks } from './certificates.ts'
import { answerCostRemarks } from './costs.ts'
import { decideRemarks } from './decide.ts'
import { deprecationRemarks } from './deprecations.ts'
import { entriesIn } from './entries.ts'
import { jwtRemarks } from './jwt.ts'
import { keyHeaderRemarks } from './keys.ts'
import {
  costRemarks,
  digitRemarks,
  limitRemarks,
  planRemarks,
  prepaidRemarks,
  shadowRemarks,
} from './limits.ts'
import { noticeRemarks } from './notices.ts'
import { portalRemarks } from './portal.ts'
import { routeRemarks } from './routes.ts'
import { mistake, section, type Quote, type Remark, type Section } from './remarks.ts'
import { banRemarks, stopRemarks, workerRemarks } from './times.ts'
import { operationRemarks, restrictionRemarks } from './restrictions.ts'
import {
  cookieRemarks,
  headerRemarks,
  probeRemarks,
  swapRemarks,
  unusedRemarks,
} from './upstreams.ts'

export type World = Readonly<{
  /** The files of this machine that the configuration names; `undefined` for somebody who may not see them. */
  files: NamedFiles | undefined
  /** Whether operators have a token. */
  adminToken: boolean
  /** Whether it is of a gateway, and must have `routes`. */
  needsRoutes: boolean
}>

/**
 * Mistakes in which several settings contradict each other or the machine, and warnings of settings that work but make
 * no sense. Settings that break their own rule, or that a variable decides, are passed over. If the routes have
 * mistakes, checks that depend on routes are left out.
 */
export function contradictionsIn(
  document: ConfigDocument,
  /** The offsets of all other mistakes. */
  others: ReadonlySet<number>,
  world: World,
): Mistake[] {
  const written = section(document.knownValues())
  const file = section(completed(written))
  const quote: Quote = (path) => document.wordAt(path) ?? textAt(file, path)
  const at = ({ path, sentence, isWarning = false }: Remark): Mistake => ({
    offset: document.places.offsetOf(path),
    path,
    sentence: () => `${nameOf(path)} ${sentence}`,
    isWarning,
  })
  const entries = entriesIn(file)
  const hasRoutes = Object.keys(written).some((name) => nearest(name, ['routes']))
  const isRouteless = world.needsRoutes && isMap(document.root) && !hasRoutes
  const ofRoutes = [
    ...(isRouteless ? [mistake(['routes'], 'is missing')] : routeRemarks(file, entries, quote)),
  ].map(at)
  const areRoutesSound = !document.places.hasOneIn(
    ['routes'],
    [...others, ...ofRoutes.map(({ offset }) => offset)],
  )
  const soundEntries = areRoutesSound ? entries : undefined
  const remarks = [
    ...addressRemarks(file, written, quote, world.adminToken),
    ...trustRemarks(file, quote),
    ...decideRemarks(file, written, quote),
    ...workerRemarks(file),
    ...planRemarks(written, Object.keys(fileSchema.properties)),
    ...digitRemarks(file, quote),
    ...limitRemarks(file, quote),
    ...operationRemarks(file),
    ...shadowRemarks(file, quote),
    ...prepaidRemarks(file),
    ...banRemarks(file, quote),
    ...keyHeaderRemarks(file, quote),
    ...stopRemarks(file, quote),
    ...cipherRemarks(file),
    ...upstreamTlsRemarks(file),
    ...(world.files
      ? [...certificateRemarks(file, world.files), ...portalRemarks(file, quote, world.files)]
      : []),
    ...costRemarks(file, quote),
    ...answerCostRemarks(file),
    ...swapRemarks(file, quote),
    ...cookieRemarks(file),
    ...headerRemarks(file),
    ...(soundEntries
      ? [...probeRemarks(file, soundEntries), ...unusedRemarks(file, soundEntries)]
      : []),
    ...restrictionRemarks(file, quote, soundEntries),
    ...deprecationRemarks(file, quote, soundEntries),
    ...jwtRemarks(file, quote, world.files),
    ...noticeRemarks(file, quote),
    ...rangeRemarks(['trustedProxies'], file['trustedProxies'], quote),
    ...originRemarks(file, quote),
  ]
  return [...ofRoutes, ...remarks.map(at)]
}

/** A number that is written in a section, or a default, as messages quote it. */
function textAt(file: Section, path: Path): string {
  const value = path.reduce<unknown>((within, step) => section(within)[step], file)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
