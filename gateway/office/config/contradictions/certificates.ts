import { endSentence } from '../../../../shared/tls/ends.ts'
import { certificateEndsAtMs, tlsFaults, type TlsFiles } from '../../../../shared/tls/files.ts'
import type { Path } from '../mistake.ts'
import type { NamedFiles } from '../named-files.ts'
import { list, mistake, section, text, warning, type Remark, type Section } from './remarks.ts'

/** The files of each section about TLS can be read, fit together, and don't end soon. */
export function* certificateRemarks(file: Section, files: NamedFiles): Generator<Remark> {
  for (const [path, named] of tlsSections(file)) {
    // Names aren't told: they may come from the environment.
    const faults = [...tlsFaults(named, (each) => files.tlsFile(each))]
    yield* faults.map(({ name, sentence }) => mistake([...path, name], sentence))
    if (faults.length > 0 || named.cert === undefined) continue
    const endsAtMs = certificateEndsAtMs({ cert: files.tlsFile(named.cert).text ?? '' })
    const sentence = endSentence(endsAtMs ?? Infinity, Date.now())
    if (sentence !== undefined) yield warning([...path, 'cert'], sentence)
  }
}

/** Ciphers of TLS 1.2 are chosen where it is spoken. */
export function* cipherRemarks(file: Section): Generator<Remark> {
  for (const name of ['listen', 'admin', 'decide']) {
    const { minVersion, ciphers } = section(section(file[name])['tls'])
    if (minVersion === 1.3 && ciphers !== undefined) {
      yield warning([name, 'tls', 'ciphers'], 'is for TLS 1.2, and minVersion is 1.3')
    }
  }
}

/** A certificate for targets has its key beside it, and the other way round; and some target is there to see it. */
export function* upstreamTlsRemarks(file: Section): Generator<Remark> {
  for (const [name, upstream] of Object.entries(section(file['upstreams']))) {
    const { tls: written, targets, swap } = section(upstream)
    if (written === undefined) continue
    const all = [...list(targets), ...list(section(swap)['to'])]
    const urls = all.map((target) => text(target) ?? text(section(target)['url']))
    if (urls.every((url) => url !== undefined && !/^(?:https:|.*\$\{)/i.test(url))) {
      yield warning(['upstreams', name, 'tls'], 'is for https targets, and there are none')
    }
    const tls = section(written)
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
  yield at(['decide'], file['decide'])
  yield at(['store', 'redis'], section(file['store'])['redis'])
  for (const [name, upstream] of Object.entries(section(file['upstreams']))) {
    yield at(['upstreams', name], upstream)
  }
}
