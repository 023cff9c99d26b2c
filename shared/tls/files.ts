import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { readText, type ReadText } from '../read-text.ts'

/** Files in PEM: a certificate with those that vouch for it, its private key, and the certificates to trust. */
export type TlsFiles = Readonly<{
  cert?: string | undefined
  key?: string | undefined
  ca?: string | undefined
}>

/** Their content, in the words of Node. */
export type TlsTexts = Readonly<{ cert?: string; key?: string; ca?: string }>

/** What a server takes: the oldest version, and the ciphers of TLS 1.2. */
export type TlsBounds = Readonly<{
  minVersion?: 1.2 | 1.3 | undefined
  ciphers?: string | undefined
}>

/** What is wrong with one of the files: a sentence without its subject. It never quotes a file or its name. */
export type TlsFault = Readonly<{ name: keyof TlsFiles; sentence: string }>

/** The longest file that is read: all certificates that a system trusts take a quarter of it. */
export const mostBytesOfTlsFile = 2 ** 20

const names = ['ca', 'cert', 'key'] as const

type ReadOptions = Readonly<{
  /** What sentences call the files. */
  called?: Readonly<Record<keyof TlsFiles, string>> | undefined
  /** Texts that are in use: they are given back if the files still have them, which spares checking a system's whole CA. */
  present?: TlsTexts
}>

/** Reads files that fit together; throws a sentence otherwise. */
export function readTls(files: TlsFiles, { called, present }: ReadOptions = {}): TlsTexts {
  const read = new Map<string, ReadText>()
  const texts: { -readonly [Name in keyof TlsTexts]: string } = {}
  for (const name of names) {
    const file = files[name]
    if (file === undefined) continue
    const { text } = once(read, file)
    if (text !== undefined) texts[name] = text
  }
  if (present && names.every((name) => texts[name] === present[name])) return present
  const [fault] = tlsFaults(files, (file) => once(read, file))
  if (fault) throw new Error(`${called?.[fault.name] ?? fault.name} ${fault.sentence}`)
  return texts
}

/** A file that is read once, also if it has both a certificate and its key. */
function once(read: Map<string, ReadText>, file: string): ReadText {
  const text = read.get(file) ?? readText(file, mostBytesOfTlsFile)
  read.set(file, text)
  return text
}

/** What keeps files from being used. */
export function* tlsFaults(
  files: TlsFiles,
  read: (file: string) => ReadText,
): Generator<TlsFault, void> {
  const texts: { -readonly [Name in keyof TlsTexts]: string } = {}
  let areSound = true
  for (const name of names) {
    const file = files[name]
    if (file === undefined) continue
    const { text, why } = read(file)
    const sentence = text === undefined ? `can't be read: ${why}` : formFault(name, text)
    if (sentence !== undefined) {
      yield { name, sentence }
      areSound = false
    } else if (text !== undefined) texts[name] = text
  }
  const { cert, key } = texts
  if (!areSound) return
  if (cert !== undefined && key !== undefined && !isPair(cert, key)) {
    yield { name: 'key', sentence: 'isn’t the private key of the certificate beside it' }
    return
  }
  try {
    createSecureContext(texts)
  } catch (error) {
    const why = error instanceof Error && 'reason' in error ? error.reason : error
    yield { name: cert === undefined ? 'ca' : 'cert', sentence: `can't be used: ${String(why)}` }
  }
}

/** The time until which the certificate of some texts is valid; `undefined` without one. */
export function certificateEndsAtMs({ cert }: TlsTexts): number | undefined {
  return cert === undefined ? undefined : new X509Certificate(cert).validToDate.getTime()
}

function formFault(name: keyof TlsFiles, text: string): string | undefined {
  if (name === 'key') {
    return isSound(() => createPrivateKey(text))
      ? undefined
      : 'must be a file with a private key in PEM, without a passphrase'
  }
  return isSound(() => new X509Certificate(text))
    ? undefined
    : 'must be a file that begins with a certificate in PEM'
}

function isPair(cert: string, key: string): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
}

function isSound(make: () => unknown): boolean {
  try {
    make()
    return true
  } catch {
    return false
  }
}
