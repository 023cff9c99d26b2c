import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { openapiFrom, type ReadOpenapi } from './openapi.ts'

/** The longest document that is read. */
const mostBytes = 2 ** 21

/** The document that was read last. Its text is checked and then used, and again at each reload: both share one reading. */
let latest: Readonly<{ text: string; read: ReadOpenapi }> | undefined

/**
 * Reads an OpenAPI document. A relative path starts at the working directory. If no file is there, it starts at the
 * folder of the configuration file, or at the one above.
 */
export function readOpenapi(path: string, configFile: string): ReadOpenapi {
  const text = textOf(placeOf(path, configFile))
  if (typeof text !== 'string') return text
  if (latest?.text !== text) latest = { text, read: openapiFrom(text) }
  return latest.read
}

function placeOf(path: string, configFile: string): string {
  if (isAbsolute(path)) return path
  const folder = dirname(configFile)
  const places = [path, join(folder, path), join(dirname(folder), path)]
  return places.find((place) => existsSync(place)) ?? path
}

/** The text of a file, or why it can't be read. */
function textOf(file: string): string | ReadOpenapi {
  try {
    const { size } = statSync(file)
    if (size > mostBytes) {
      return { faults: [{ sentence: `it has ${size} bytes; at most ${mostBytes} are allowed` }] }
    }
    return readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    const why = code === 'ENOENT' ? 'there is no such file' : `the system says ${String(code)}`
    return { faults: [{ sentence: why }] }
  }
}
