import { LineCounter, type Document } from 'yaml'
import { openapiFaults, type Fault } from './openapi-faults.ts'
import { isDeeper, mostLevels, yamlDocument, yamlSentence } from './yaml-document.ts'

/** A mistake in a document, with line and column where it has them. */
export type PlacedFault = Readonly<{ at?: string; sentence: string }>

/** An OpenAPI document as JSON, or the mistakes that keep it from being shown. */
export type ReadOpenapi = Readonly<{ json?: string; faults: readonly PlacedFault[] }>

/** The most mistakes that are told of one document. */
const mostFaults = 10

/** Reads the text of an OpenAPI document, in YAML or JSON. */
export function openapiFrom(text: string): ReadOpenapi {
  const parsed = parsedJson(text)
  // JSON needs no second reading unless a mistake needs a place.
  if (parsed !== undefined && !isDeeper(parsed, mostLevels) && openapiFaults(parsed).length === 0) {
    return { json: JSON.stringify(parsed), faults: [] }
  }
  const lines = new LineCounter()
  const document = yamlDocument(text, lines)
  const placeOf = (offset: number): string => {
    const { line, col } = lines.linePos(offset)
    return `${line}:${col}`
  }
  const [broken] = document.errors
  if (broken) {
    const sentence = yamlSentence(broken, text)
    return { faults: [{ at: placeOf(broken.pos[0]), sentence }] }
  }
  try {
    const value: unknown = document.toJS()
    const faults = openapiFaults(value).slice(0, mostFaults)
    if (faults.length === 0) return { json: JSON.stringify(value), faults }
    return { faults: faults.map((each) => placed(each, document, placeOf)) }
  } catch (error) {
    return { faults: [{ sentence: error instanceof Error ? error.message : String(error) }] }
  }
}

function placed(
  { path, sentence }: Fault,
  document: Document.Parsed,
  placeOf: (offset: number) => string,
): PlacedFault {
  // Where an alias stands on the way, the mistake is told at the nearest place around it.
  for (let length = path.length; length >= 0; length--) {
    const node = document.getIn(path.slice(0, length), true) as { range?: [number] } | undefined
    if (node?.range) return { at: placeOf(node.range[0]), sentence }
  }
  return { at: '1:1', sentence }
}

function parsedJson(text: string): unknown {
  try {
    return /^\s*\{/.test(text) ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}
