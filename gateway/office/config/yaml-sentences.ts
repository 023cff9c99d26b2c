import { isAlias, visit, type Document, type YAMLParseError } from 'yaml'
import type { Mistake } from './mistake.ts'
import { baredText } from './variables.ts'

/** The text itself isn't quoted: it may be a secret. */
const unquoted = 'a text that begins with * must be in quotes'

/** A message about invalid YAML: our own where the library's doesn't say what to do. */
export function yamlSentence({ code, message, pos }: YAMLParseError, text: string): string {
  if (code === 'MULTIPLE_DOCS') {
    return 'another YAML document begins here, but a configuration is one document: remove the line ---'
  }
  if (code === 'RESOURCE_EXHAUSTION') return message
  if (code === 'BAD_ALIAS' && text.charAt(pos[0]) === '*') return unquoted
  const line = text.slice(text.lastIndexOf('\n', pos[0] - 1) + 1).split('\n', 1)[0] ?? ''
  const hint = line.includes('${')
    ? '; write a variable as ${NAME} or ${NAME:-default}, and in quotes if it contains quotes'
    : ''
  return `this isn't valid YAML: ${baredText(message)}${hint}`
}

/** Aliases without an anchor. Most likely, the author meant a text that begins with `*`. */
export function aliasesOfNothing(document: Document): Mistake[] {
  const anchors = new Set<string>()
  const mistakes: Mistake[] = []
  visit(document, {
    Node: (_key, node) => {
      if (!isAlias(node)) {
        if (node.anchor !== undefined) anchors.add(node.anchor)
      } else if (!anchors.has(node.source)) {
        mistakes.push({ offset: node.range?.[0] ?? 0, sentence: () => unquoted })
      }
    },
  })
  return mistakes
}
