import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './process.ts'

/** The text of a file of the repository. */
export function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

/** The guides: pages for those who start, operate, call and embed. */
export const guides = ['starting', 'operating', 'calling', 'embedding'].map(
  (name) => `config/guides/${name}.md`,
)

/** The rows of a README's table whose first column has a name, without what Markdown needs. */
export function table(file: string, name: string): string[][] {
  const lines = textOf(file).split('\n')
  const start = lines.findIndex((line) => new RegExp(`^\\| ${name} +\\|`).test(line))
  if (start < 0) throw new Error(`${file} has no table of each ${name}`)
  const rows = lines.slice(start + 2)
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith('|')),
    )
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) =>
          cell
            .trim()
            .replace(/^`(.*)`$/, '$1')
            .replace(/\\([*|])/g, '$1'),
        ),
    )
}

/** The blocks of code in a language. */
export function blocks(text: string, language: string): string[] {
  return [...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n(.*?)^ *\`\`\``, 'gms'))].map(
    ([, code = '']) => code,
  )
}

/** The files that a page shows, by the names in their first lines. */
export function shownFiles(page: string): Record<string, string> {
  const files = textOf(page).matchAll(/^```\w+\n((?:\/\/|#) (\S+)\n.*?)^```/gms)
  return Object.fromEntries([...files].map(([, code = '', name = '']) => [name, code]))
}
