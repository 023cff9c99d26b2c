import { X509Certificate } from 'node:crypto'
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import type { Path } from '../document.ts'
import { mistake, section, text, type Remark, type Section } from './remarks.ts'

/** The longest file of certificates that is read: all that a system trusts take a quarter of it. */
const mostBytes = 2 ** 20

export function* certificateRemarks(file: Section): Generator<Remark> {
  const { redis } = section(file['store'])
  const settings: [Path, unknown][] = [[['store', 'redis', 'tls', 'ca'], section(redis)['tls']]]
  for (const [name, upstream] of Object.entries(section(file['upstreams']))) {
    settings.push([['upstreams', name, 'tls', 'ca'], section(upstream)['tls']])
  }
  for (const [setting, tls] of settings) {
    const ca = text(section(tls)['ca'])
    const why = ca === undefined ? undefined : faultOf(ca)
    if (why !== undefined) yield mistake(setting, why)
  }
}

/** Why a file can't be used; `undefined` if it can. The name isn't in it: it may come from the environment. */
function faultOf(file: string): string | undefined {
  try {
    const entry = statSync(file)
    if (!entry.isFile()) return "can't be read: it isn't a file"
    if (entry.size > mostBytes) {
      return `can't be read: it has ${entry.size} bytes; at most ${mostBytes} are allowed`
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
