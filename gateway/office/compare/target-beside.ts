import { readTls, type TlsFiles } from '../../../shared/tls/files.ts'
import type { UpstreamSettings } from '../../front/config/config.ts'
import { TargetMeter } from '../../front/counts/meters.ts'
import { Target } from '../../front/forwarding/target.ts'

/** A target beside those of an upstream, with the upstream's times and certificates. It counts in no metric. */
export function targetBeside(
  url: string,
  { timeouts, health, tls }: Pick<UpstreamSettings, 'timeouts' | 'health' | 'tls'>,
): Target {
  const settings = { url, weight: 1 }
  return new Target({
    settings,
    timeouts,
    health,
    tls: tls && { certificates: readAtEach(tls), name: tls.name },
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
