import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { openapiFrom, type ReadOpenapi } from './openapi.ts'

/** The longest file of certificates that is read: all that a system trusts take a quarter of it. */
const mostBytesOfCertificates = 2 ** 20

/** The longest OpenAPI document that is read. */
const mostBytesOfDocument = 2 ** 21

/** A file's text, or why it can't be read. */
type ReadText =
  Readonly<{ text: string; why?: undefined }> | Readonly<{ text?: undefined; why: string }>

/** The document that was read last: each reload reads the same one again. */
let latest: Readonly<{ text: string; read: ReadOpenapi }> | undefined

/**
 * The files that one configuration names. Each is read once: what is used is what was checked, also if somebody writes
 * to it meanwhile. Only the certificates of Redis are read again, at each connection.
 */
export class NamedFiles {
  readonly #configFile: string
  readonly #readsDocument: boolean
  readonly #certificates = new Map<string, ReadText>()
  readonly #documents = new Map<string, ReadOpenapi>()

  constructor(configFile: string, { readsDocument }: Readonly<{ readsDocument: boolean }>) {
    this.#configFile = configFile
    this.#readsDocument = readsDocument
  }

  certificates(file: string): ReadText {
    return once(this.#certificates, file, () => textOf(file, mostBytesOfCertificates))
  }

  /**
   * An OpenAPI document; an empty one for a command that has no use for it. A relative path starts at the working
   * directory. If no file is there, it starts at the folder of the configuration file, or at the one above.
   */
  openapi(path: string): ReadOpenapi {
    if (!this.#readsDocument) return { json: '{}', faults: [] }
    return once(this.#documents, path, () => readOpenapi(placeOf(path, this.#configFile)))
  }
}

function once<Value>(cache: Map<string, Value>, name: string, read: () => Value): Value {
  const value = cache.get(name) ?? read()
  cache.set(name, value)
  return value
}

function readOpenapi(file: string): ReadOpenapi {
  const { text, why } = textOf(file, mostBytesOfDocument)
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

function textOf(file: string, mostBytes: number): ReadText {
  try {
    const entry = statSync(file)
    if (!entry.isFile()) return { why: "it isn't a file" }
    if (entry.size > mostBytes) {
      return { why: `it has ${entry.size} bytes; at most ${mostBytes} are allowed` }
    }
    return { text: readFileSync(file, 'utf8') }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return {
      why: code === 'ENOENT' ? 'there is no such file' : `the system says ${String(code)}`,
    }
  }
}
