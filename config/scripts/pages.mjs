import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { root } from './shared.mjs'

/** Pages that run in browsers, each with a tsconfig.json of its own: those of operators, and those of callers. */
export const pageFolders = [join('gateway', 'admin', 'console'), join('gateway', 'portal', 'page')]

/** The sheet and the icon that all pages have. */
const common = join(root, 'gateway', 'http', 'page')

/** The packages that pages import by name, and the files of theirs that browsers get. */
const packages = {
  preact: 'preact/dist/preact.mjs',
  'preact/hooks': 'preact/hooks/dist/hooks.mjs',
  htm: 'htm/dist/htm.mjs',
}

/**
 * Completes compiled pages: copies what they have in common and the packages that they import beside them, and writes
 * relative paths in place of the packages' names. Browsers know names only by import maps, which would be inline scripts.
 */
export function completePages(target) {
  for (const folder of pageFolders) completeFolder(join(target, folder))
}

function completeFolder(pages) {
  cpSync(common, pages, { recursive: true })
  const vendor = join(pages, 'vendor')
  mkdirSync(vendor, { recursive: true })
  for (const [name, file] of Object.entries(packages)) {
    const text = readFileSync(join(root, 'node_modules', file), 'utf8').replace(
      /\n?\/\/# sourceMappingURL=.*\s*$/,
      '\n',
    )
    writeFileSync(fileOf(vendor, name), text)
  }
  const files = readdirSync(pages, { recursive: true, withFileTypes: true })
  for (const entry of files.filter((entry) => entry.isFile() && entry.name.endsWith('.js'))) {
    const file = join(entry.parentPath, entry.name)
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, withPaths(text, dirname(file), vendor))
  }
}

function withPaths(text, from, vendor) {
  const imports = /((?:^|;)\s*(?:import|export)\b[^"';]*?\bfrom\s*)(["'])([^"'.][^"']*)\2/gm
  return text.replace(imports, (all, word, _quote, name) => {
    if (!(name in packages)) throw new Error(`pages can't import ${name}: add it to pages.mjs`)
    const path = relative(from, fileOf(vendor, name))
    return `${word}"${path.startsWith('.') ? path : `./${path}`}"`
  })
}

function fileOf(vendor, name) {
  return join(vendor, `${name.replace('/', '-')}.js`)
}
