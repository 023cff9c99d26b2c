import { endSentence } from '../../../../shared/tls/ends.ts'
import { certificateEndsAtMs, tlsFaults, type TlsFiles } from '../../../../shared/tls/files.ts'
import type { Path } from '../mistake.ts'
import type { KnownFile } from '../defaults.ts'
import { mistake, warning, type Checked, type Remark } from './remarks.ts'

/** The files of each section about TLS can be read, fit together, and don't end soon. */
export function* certificateRemarks({ file, files }: Checked): Generator<Remark> {
  if (!files) return
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
export function* cipherRemarks({ file }: Checked): Generator<Remark> {
  for (const name of ['listen', 'admin', 'decide'] as const) {
    const { minVersion, ciphers } = file[name]?.tls ?? {}
    if (minVersion === 1.3 && ciphers !== undefined) {
      yield warning([name, 'tls', 'ciphers'], 'is for TLS 1.2, and minVersion is 1.3')
    }
  }
}

/** A certificate for targets has its key beside it, and the other way round; and some target is there to see it. */
export function* upstreamTlsRemarks({ file }: Checked): Generator<Remark> {
  for (const [name, { tls, targets = [], swap } = {}] of Object.entries(file.upstreams ?? {})) {
    if (!tls) continue
    const urls = [...targets, ...(swap?.to ?? [])].map((target) => target?.url)
    if (urls.every((url) => url !== undefined && !/^https:/i.test(url))) {
      yield warning(['upstreams', name, 'tls'], 'is for https targets, and there are none')
    }
    const [one, other] = 'cert' in tls ? ['cert', 'key'] : ['key', 'cert']
    if (one in tls && !(other in tls)) {
      const sentence = `needs ${other} beside it: a certificate and its private key`
      yield mistake(['upstreams', name, 'tls', one], sentence)
    }
  }
}

function* tlsSections(file: KnownFile): Generator<readonly [Path, TlsFiles]> {
  const { listen, admin, decide, store, upstreams = {} } = file
  const redis = typeof store?.redis === 'object' ? store.redis.tls : undefined
  const sections: [Path, TlsFiles | undefined][] = [
    [['listen'], listen?.tls],
    [['admin'], admin?.tls],
    [['decide'], decide?.tls],
    [['store', 'redis'], typeof redis === 'object' ? redis : undefined],
    ...Object.entries(upstreams).map(([name, upstream]): [Path, TlsFiles | undefined] => [
      ['upstreams', name],
      upstream?.tls,
    ]),
  ]
  for (const [path, { cert, key, ca } = {}] of sections) yield [[...path, 'tls'], { cert, key, ca }]
}
