import { createSecureContext } from 'node:tls'
import { optional, required, section } from './setting.ts'
import { oneOf, readBy, spelled, text } from './values.ts'

const ofCertificate = 'A file in PEM: the certificate, followed by those that vouch for it.'
const ofKey = 'A file in PEM: the private key of the certificate, without a passphrase.'

const ciphers = readBy(
  knownCiphers,
  '^[\\w:+!.-]{1,1000}$',
  'OpenSSL’s ciphers of TLS 1.2, such as ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384',
)

/** Of an address that the gateway listens on. */
export const listeningTls = section({
  cert: required(text, ofCertificate),
  key: required(text, ofKey),
  minVersion: optional(
    oneOf(1.2, 1.3),
    'The oldest version of TLS that is spoken; without it, 1.2.',
  ),
  ciphers: optional(
    ciphers,
    "The ciphers of TLS 1.2, the best first; without it, Node.js' own. Those of TLS 1.3 are always Node.js' own.",
  ),
})

export const purposeOfListeningTls =
  'The certificate of this address, which then speaks HTTPS only. Files that change are read again.'

const backendName = spelled(
  '^(?![\\d.]+$)[\\w-]+(?:\\.[\\w-]+)*$',
  'a DNS name such as animals.internal',
)

/** Of connections to targets. */
export const upstreamTls = section({
  ca: optional(text, "A file in PEM with the certificates to trust, in place of Node.js' own."),
  cert: optional(text, `${ofCertificate} The gateway shows it to targets that ask for one.`),
  key: optional(text, ofKey),
  name: optional(
    backendName,
    'The name that the certificates of targets must have, in place of the host in targets.',
  ),
})

/** A list of ciphers of which each is known, because OpenSSL ignores others; suites of TLS 1.3 are none of them. */
function knownCiphers(list: string): string | undefined {
  const chosen = list.split(':').filter((each) => !/^[!+-]/.test(each))
  return chosen.every((each) => !each.startsWith('TLS_') && isUsable(each)) && isUsable(list)
    ? list
    : undefined
}

function isUsable(ciphers: string): boolean {
  try {
    createSecureContext({ ciphers })
    return ciphers !== ''
  } catch {
    return false
  }
}
