import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ends } from './redis.ts'

/** A self-signed certificate and its key, in PEM. */
export type Certificate = Readonly<{ cert: string; key: string }>

export type CertificateOptions = Readonly<{
  /** The DNS names that it is for. */
  names?: readonly string[]
  /** Whether it is for 127.0.0.1 as well. */
  address?: boolean
  endsAtMs?: number
  /** The key of an authority that signs it; by default it signs itself. */
  signedBy?: Pick<Certificate, 'key'>
}>

/** Makes a certificate, by default for the name and the address of this machine's loopback. */
export function selfSigned(options: CertificateOptions = {}): Certificate {
  const { names = ['localhost'], address = true, endsAtMs, signedBy } = options
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  // Those who trust several look for one by its name.
  const name = nameOf(`localhost ${randomUUID()}`)
  const ecdsaSha256 = sequence(oid('2a8648ce3d040302'))
  const alternatives = sequence(
    ...names.map((name) => tagged(0x82, Buffer.from(name))),
    ...(address ? [tagged(0x87, Buffer.from([127, 0, 0, 1]))] : []),
  )
  const extensions = sequence(sequence(oid('551d11'), tagged(0x04, alternatives)))
  const body = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.from([1])),
    ecdsaSha256,
    signedBy ? nameOf('authority') : name,
    sequence(time('200101000000Z'), time(endsAtMs ? utcTime(endsAtMs) : '491231235959Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, extensions),
  )
  const signature = createSign('sha256')
    .update(body)
    .sign(signedBy?.key ?? privateKey)
  const der = sequence(body, ecdsaSha256, tagged(0x03, Buffer.concat([Buffer.of(0), signature])))
  const lines = der.toString('base64').replace(/.{64}(?!$)/g, '$&\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** The files of a certificate and its key in a folder of their own, which a test may exchange for others. */
export function pairFor(t: Ends, first = selfSigned()) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-tls-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const put = (file: string, text: string): void => {
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  }
  const write = (pair: Certificate): void => {
    put(cert, pair.cert)
    put(key, pair.key)
  }
  write(first)
  return { cert, key, write, put, yaml: `{ cert: "${cert}", key: "${key}" }` }
}

function nameOf(commonName: string): Buffer {
  return sequence(set(sequence(oid('550403'), text(commonName))))
}

/** A time to the second, as certificates have it. */
function utcTime(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(2, 19).replace(/\D/g, '')}Z`
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
