import { nameOf } from '../check.ts'
import type { ConfigDocument, Mistake } from '../document.ts'
import { fileSchema } from '../schema.ts'
import { addressSayings, originSayings, proxySayings } from './addresses.ts'
import { certificateSayings } from './certificates.ts'
import { deprecationSayings } from './deprecations.ts'
import { costSayings, limitSayings, planSayings } from './limits.ts'
import { routeSayings } from './routes.ts'
import { section, type Quote, type Saying } from './saying.ts'
import { banSayings, stopSayings, workerSayings } from './times.ts'
import { probeSayings, unusedSayings } from './upstreams.ts'

export type World = Readonly<{
  /** Whether this machine's files are looked at: who may not look at them learns nothing of them. */
  files: boolean
  /** Whether operators have a token. */
  adminToken: boolean
}>

/**
 * What no single setting has wrong, but several together, or with the world; and what works, but makes no sense. A
 * setting that is wrong by itself is told elsewhere, and passed over here, as is one that isn't known. What follows
 * from routes that are wrong is left out.
 */
export function contradictionsIn(
  document: ConfigDocument,
  others: readonly Mistake[],
  world: World,
): Mistake[] {
  const file = section(document.known())
  const quote: Quote = (path) => document.wordAt(path) ?? ''
  const at = ({ path, sentence, isWarning = false }: Saying): Mistake => ({
    offset: document.offsetOf(path),
    sentence: `${nameOf(path)} ${sentence}`,
    isWarning,
  })
  const ofRoutes = [...routeSayings(file, quote)].map(at)
  const areRoutesSound = !document.hasOneIn(['routes'], [...others, ...ofRoutes])
  const said = [
    ...addressSayings(file, quote, world.adminToken),
    ...workerSayings(file),
    ...planSayings(file, Object.keys(fileSchema.properties)),
    ...limitSayings(file, quote),
    ...banSayings(file, quote),
    ...stopSayings(file, quote),
    ...(world.files ? certificateSayings(file) : []),
    ...costSayings(file, quote),
    ...(areRoutesSound ? [...probeSayings(file), ...unusedSayings(file)] : []),
    ...deprecationSayings(file, quote, areRoutesSound),
    ...proxySayings(file, quote),
    ...originSayings(file, quote),
  ]
  return [...ofRoutes, ...said.map(at)]
}
