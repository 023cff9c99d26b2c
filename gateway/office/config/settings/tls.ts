import { optional, required, section } from './setting.ts'
import { spelled, text } from './values.ts'

const ofCertificate = 'A file in PEM: the certificate, followed by those that vouch for it.'
const ofKey = 'A file in PEM: the private key of the certificate, without a passphrase.'

/** Of an address that the gateway listens on. */
export const listeningTls = section({
  cert: required(text, ofCertificate),
  key: required(text, ofKey),
})

export const purposeOfListeningTls =
  'The certificate of this address, which then speaks HTTPS only. Files that change are read again.'

const backendName = spelled(
  '^(?:(?![\\d.]+$)[\\w-]+(?:\\.[\\w-]+)*|spiffe://[^/?#\\s]+(?:/[^?#\\s]+)?)$',
  'a DNS name such as animals.internal, or spiffe://DOMAIN/PATH',
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
