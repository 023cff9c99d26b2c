import { X509Certificate } from 'node:crypto'
import type { Path } from '../mistake.ts'
import type { NamedFiles } from '../named-files.ts'
import { mistake, section, text, type Remark, type Section } from './remarks.ts'

export function* certificateRemarks(file: Section, files: NamedFiles): Generator<Remark> {
  const { redis } = section(file['store'])
  const settings: [Path, unknown][] = [[['store', 'redis', 'tls', 'ca'], section(redis)['tls']]]
  for (const [name, upstream] of Object.entries(section(file['upstreams']))) {
    settings.push([['upstreams', name, 'tls', 'ca'], section(upstream)['tls']])
  }
  for (const [setting, tls] of settings) {
    const ca = text(section(tls)['ca'])
    if (ca === undefined) continue
    const { text: pem, why } = files.certificates(ca)
    // The name isn't told: it may come from the environment.
    if (pem === undefined) yield mistake(setting, `can't be read: ${why}`)
    else if (!isCertificate(pem)) {
      yield mistake(setting, 'must be a file that begins with a certificate in PEM')
    }
  }
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem)
    return true
  } catch {
    return false
  }
}
