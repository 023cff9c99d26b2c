import type { CheckSide } from '../../front/swaps/swaps.ts'
import { presentSecret, type SecretSource } from '../../../shared/signature.ts'
import { holdAgainst } from './probe.ts'

/** The comparison with which a swap begins, as `tollgate upstream check` makes it. */
export function checkFor(source: SecretSource): CheckSide {
  return async (config, upstream) => {
    const secret = presentSecret(source)
    for (const { url } of upstream.swap?.to ?? []) {
      const { findings } = await holdAgainst(url, { config, upstream, secret, isTrusted: true })
      const broken = findings.find(({ breaks }) => breaks.length > 0)
      if (broken) return `${url} would break ${broken.probe}: ${broken.breaks.join('; ')}`
    }
    return undefined
  }
}
