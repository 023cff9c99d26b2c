import { tlsFaults, type TlsFiles } from '../../../../shared/tls/files.ts'
import type { Path } from '../mistake.ts'
import type { NamedFiles } from '../named-files.ts'
import { mistake, section, text, type Remark, type Section } from './remarks.ts'

/** The files of each section about TLS can be read, and fit together. */
export function* certificateRemarks(file: Section, files: NamedFiles): Generator<Remark> {
  for (const [path, named] of tlsSections(file)) {
    // Names aren't told: they may come from the environment.
    for (const { name, sentence } of tlsFaults(named, (each) => files.tlsFile(each))) {
      yield mistake([...path, name], sentence)
    }
  }
}

/** A certificate for targets has its key beside it, and the other way round. */
export function* halfPairRemarks(file: Section): Generator<Remark> {
  for (const [name, upstream] of Object.entries(section(file['upstreams']))) {
    const tls = section(section(upstream)['tls'])
    for (const [one, other] of [
      ['cert', 'key'],
      ['key', 'cert'],
    ] as const) {
      if (tls[one] === undefined || other in tls) continue
      yield mistake(
        ['upstreams', name, 'tls', one],
        `needs ${other} beside it: a certificate and its private key`,
      )
    }
  }
}

function* tlsSections(file: Section): Generator<readonly [Path, TlsFiles]> {
  const at = (path: Path, within: unknown): readonly [Path, TlsFiles] => {
    const { cert, key, ca } = section(section(within)['tls'])
    return [[...path, 'tls'], { cert: text(cert), key: text(key), ca: text(ca) }]
  }
  yield at(['listen'], file['listen'])
  yield at(['admin'], file['admin'])
  yield at(['store', 'redis'], section(file['store'])['redis'])
  for (const [name, upstream] of Object.entries(section(file['upstreams']))) {
    yield at(['upstreams', name], upstream)
  }
}
