import { asError } from '../../../shared/as-error.ts'
import type { PeerCertificate } from 'node:tls'
import { buildConnector } from 'undici'
import type { TlsTexts } from '../../../shared/tls/files.ts'

/**
 * The certificates at https targets. `texts` may be others later: connections made from then on go by them. What reading them
 * throws is why a connection fails.
 */
export type TargetTls = Readonly<{
  certificates: Readonly<{ texts: TlsTexts }>
  /** The name that the target's certificate must have, in place of its host. */
  name: string | undefined
}>

type Connect = ReturnType<typeof buildConnector>

/** The function by which undici connects to a target. */
export function securedConnector({ certificates, name }: TargetTls, timeout: number): Connect {
  const spiffeId = name?.startsWith('spiffe:') ? name : undefined
  const sni = name === undefined || spiffeId !== undefined ? {} : { servername: name }
  const identity =
    spiffeId === undefined
      ? {}
      : {
          checkServerIdentity: (_host: string, shown: PeerCertificate) =>
            spiffeFault(spiffeId, shown),
        }
  let texts: TlsTexts | undefined
  let connect: Connect
  return (target, done) => {
    try {
      const present = certificates.texts
      // With the connector its sessions are forgotten, which nobody would check again.
      if (texts !== present) {
        connect = buildConnector({
          ...{ ...present, ...identity, timeout, allowH2: false, rejectUnauthorized: true },
        })
        texts = present
      }
    } catch (error) {
      return done(asError(error), null)
    }
    connect({ ...target, ...sni }, done)
  }
}

/** Why a certificate isn't that of a SPIFFE ID: exactly one must be among its URIs. */
export function spiffeFault(
  id: string,
  { subjectaltname = '' }: Pick<PeerCertificate, 'subjectaltname'>,
): Error | undefined {
  const ids = alternativeNames(subjectaltname)?.filter((name) => /^URI:spiffe:/i.test(name))
  if (ids?.length === 1 && ids[0] === `URI:${id}`) return undefined
  const identity = ids?.map((name) => name.slice('URI:'.length)).join(' and ') || 'no SPIFFE ID'
  return new Error(`the certificate of the backend must be of ${id} alone, and has ${identity}`)
}

/** A name of a certificate as Node writes it; in quotes, as JSON, if it could be misread. */
const alternativeName = /([^",]*)("(?:[^"\\\p{Cc}]|\\.)*")?(?:, |$)/uy

/** The alternative names of a certificate, each with its kind; `undefined` if they can't be told apart. */
function alternativeNames(text: string): string[] | undefined {
  const names: string[] = []
  alternativeName.lastIndex = 0
  while (alternativeName.lastIndex < text.length) {
    const [, plain = '', quoted] = alternativeName.exec(text) ?? []
    if (alternativeName.lastIndex === 0) return undefined
    names.push(quoted === undefined ? plain : plain + String(JSON.parse(quoted)))
  }
  return names
}
