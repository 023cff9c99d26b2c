import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { entryOf } from '../../../shared/entry-of.ts'
import { readText, type ReadText } from '../../../shared/read-text.ts'
import { mostBytesOfTlsFile } from '../../../shared/tls/files.ts'
import { openapiFrom, type ReadOpenapi } from './openapi.ts'

/** The longest key set that is read. */
const mostBytesOfKeys = 2 ** 20

/** The longest OpenAPI document that is read. */
const mostBytesOfDocument = 2 ** 21

/** The document that was read last: each reload reads the same one again. */
let latest: Readonly<{ text: string; read: ReadOpenapi }> | undefined

/**
 * The files that one configuration names. Each is read once: the document that is used is the one that was checked, also if
 * somebody writes to it meanwhile. Certificates and keys are checked here, and read again where they are used.
 */
export class NamedFiles {
  readonly #configFile: string
  readonly #readsDocument: boolean
  readonly #tlsFiles = new Map<string, ReadText>()
  readonly #keySets = new Map<string, ReadText>()
  readonly #documents = new Map<string, ReadOpenapi>()

  constructor(configFile: string, { readsDocument }: Readonly<{ readsDocument: boolean }>) {
    this.#configFile = configFile
    this.#readsDocument = readsDocument
  }

  /** A file of certificates, or of a private key. */
  tlsFile(file: string): ReadText {
    return entryOf(this.#tlsFiles, file, () => readText(file, mostBytesOfTlsFile))
  }

  /** A key set. A relative path starts where that of an OpenAPI document does. */
  keySet(path: string): ReadText {
    const read = (): ReadText => readText(placeOf(path, this.#configFile), mostBytesOfKeys)
    return entryOf(this.#keySets, path, read)
  }

  /**
   * An OpenAPI document; an empty one for a command that has no use for it. A relative path starts at the working
   * directory. If no file is there, it starts at the folder of the configuration file, or at the one above.
   */
  openapi(path: string): ReadOpenapi {
    if (!this.#readsDocument) return { json: '{}', faults: [] }
    return entryOf(this.#documents, path, () => readOpenapi(placeOf(path, this.#configFile)))
  }
}

function readOpenapi(file: string): ReadOpenapi {
  const { text, why } = readText(file, mostBytesOfDocument)
  if (text === undefined) return { faults: [{ sentence: why }] }
  if (latest?.text !== text) latest = { text, read: openapiFrom(text) }
  return latest.read
}

function placeOf(path: string, configFile: string): string {
  if (isAbsolute(path)) return path
  const folder = dirname(configFile)
  const places = [path, join(folder, path), join(dirname(folder), path)]
  return places.find((candidate) => existsSync(candidate)) ?? path
}
