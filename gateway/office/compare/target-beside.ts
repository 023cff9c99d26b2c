import { readTls, type TlsFiles } from '../../../shared/tls/files.ts'
import type { UpstreamSettings } from '../../front/config/config.ts'
import { TargetMeter } from '../../front/counts/meters.ts'
import { Target } from '../../front/forwarding/target.ts'
import { originOf } from '../../front/forwarding/target-url.ts'

/**
 * A target beside those of an upstream, with the upstream's times and certificates. It counts in no metric, and has the headers
 * of `forward.headers` only if the upstream names its address.
 */
export function targetBeside(url: string, upstream: UpstreamSettings): Target {
  const { timeouts, health, tls, targets, swap } = upstream
  const settings = { url, weight: 1 }
  const own = [...targets, ...(swap?.to ?? [])].map((target) => originOf(target.url))
  return new Target({
    settings,
    timeouts,
    health,
    tls: tls && { certificates: readAtEach(tls), name: tls.name },
    headers: own.includes(originOf(url)) ? upstream.headers : undefined,
    meter: new TargetMeter(),
    changed: () => undefined,
    suspected: () => undefined,
  })
}

/** Files that are read for each connection: few are made, and a comparison may outlast a certificate. */
function readAtEach(files: TlsFiles) {
  return {
    get texts() {
      return readTls(files)
    },
  }
}
