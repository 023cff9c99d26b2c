import { overMost } from './commas.ts'
import { readFileSync, statSync } from 'node:fs'

/** A file's text, or why it can't be read. */
export type ReadText =
  Readonly<{ text: string; why?: undefined }> | Readonly<{ text?: undefined; why: string }>

/** Reads a file that somebody names, of at most so many bytes. */
export function readText(file: string, mostBytes: number): ReadText {
  try {
    const entry = statSync(file)
    if (!entry.isFile()) return { why: "it isn't a file" }
    if (entry.size > mostBytes) {
      return { why: `it has ${overMost(entry.size, 'bytes', mostBytes)}` }
    }
    const bytes = readFileSync(file)
    // Files of /proc tell no size.
    if (bytes.length > mostBytes) {
      return { why: `it has ${overMost(bytes.length, 'bytes', mostBytes)}` }
    }
    return { text: bytes.toString() }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return {
      why: code === 'ENOENT' ? 'there is no such file' : `the system says ${String(code)}`,
    }
  }
}
