import { createSign, generateKeyPairSync } from 'node:crypto'

/** A self-signed certificate and its key, in PEM. */
export type Certificate = Readonly<{ cert: string; key: string }>

/** Makes a certificate for the name and, by default, the address of this machine's loopback. */
export function selfSigned({ address = true } = {}): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(set(sequence(oid('550403'), text('localhost'))))
  const ecdsaSha256 = sequence(oid('2a8648ce3d040302'))
  const names = sequence(
    tagged(0x82, Buffer.from('localhost')),
    ...(address ? [tagged(0x87, Buffer.from([127, 0, 0, 1]))] : []),
  )
  const extensions = sequence(sequence(oid('551d11'), tagged(0x04, names)))
  const body = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.from([1])),
    ecdsaSha256,
    name,
    sequence(time('200101000000Z'), time('491231235959Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, extensions),
  )
  const signature = createSign('sha256').update(body).sign(privateKey)
  const der = sequence(body, ecdsaSha256, tagged(0x03, Buffer.concat([Buffer.of(0), signature])))
  const lines = der.toString('base64').replace(/.{64}/g, '$&\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

function set(part: Buffer): Buffer {
  return tagged(0x31, part)
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'))
}

function text(value: string): Buffer {
  return tagged(0x0c, Buffer.from(value))
}

function time(value: string): Buffer {
  return tagged(0x17, Buffer.from(value))
}
