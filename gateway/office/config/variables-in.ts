import { visit } from 'yaml'
import { baredText, guardedText } from './variables.ts'
import { yamlDocument } from './yaml-document.ts'

/** The names of the variables that are in the values of a text; those in comments aren't. */
export function variablesIn(text: string): ReadonlySet<string> {
  const names = new Set<string>()
  const document = yamlDocument(guardedText(text))
  visit(document, {
    Scalar: (key, { value }) => {
      if (key === 'key' || typeof value !== 'string') return
      for (const [, name = ''] of baredText(value).matchAll(/\$\{(\w+)/g)) names.add(name)
    },
  })
  return names
}
