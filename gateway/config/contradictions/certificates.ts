import { X509Certificate } from 'node:crypto'
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import type { Path } from '../document.ts'
import { mistake, section, text, type Saying, type Section } from './saying.ts'

/** A file of certificates is much smaller; all that everybody believes take a quarter of it. */
const mostBytes = 2 ** 20

export function* certificateSayings(file: Section): Generator<Saying> {
  const { redis } = section(file['store'])
  const places: [Path, unknown][] = [[['store', 'redis', 'tls', 'ca'], section(redis)['tls']]]
  for (const [name, upstream] of Object.entries(section(file['upstreams']))) {
    places.push([['upstreams', name, 'tls', 'ca'], section(upstream)['tls']])
  }
  for (const [place, tls] of places) {
    const ca = text(section(tls)['ca'])
    const why = ca === undefined ? undefined : faultOf(ca)
    if (why !== undefined) yield mistake(place, why)
  }
}

/** Why a file can't be used, if it can't: never with its name, which may be from the environment. */
function faultOf(file: string): string | undefined {
  try {
    const found = statSync(file)
    if (!found.isFile()) return "can't be read: this isn't a file"
    if (found.size > mostBytes) {
      return `can't be read: it has ${found.size} bytes, and may have ${mostBytes}`
    }
    accessSync(file, constants.R_OK)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    const why = code === 'ENOENT' ? 'there is no such file' : `the system says ${String(code)}`
    return `can't be read: ${why}`
  }
  try {
    new X509Certificate(readFileSync(file))
    return undefined
  } catch {
    return 'must be a file that begins with a certificate in PEM'
  }
}
