import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { root } from './shared.mjs'

/** The pages of the console, which run in browsers and have a tsconfig.json of their own. */
export const consoleFolder = join('gateway', 'admin', 'console')

/** The packages that pages import by name, and the files of theirs that browsers get. */
const packages = {
  preact: 'preact/dist/preact.mjs',
  'preact/hooks': 'preact/hooks/dist/hooks.mjs',
  htm: 'htm/dist/htm.mjs',
}

/**
 * Completes the compiled pages of the console: copies the packages that they import beside them, and writes relative paths
 * in place of the packages' names. Browsers know names only by import maps, which would be inline scripts.
 */
export function completeConsole(target) {
  const pages = join(target, consoleFolder)
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
    if (!(name in packages))
      throw new Error(`the console can't import ${name}: add it to console.mjs`)
    const path = relative(from, fileOf(vendor, name))
    return `${word}"${path.startsWith('.') ? path : `./${path}`}"`
  })
}

function fileOf(vendor, name) {
  return join(vendor, `${name.replace('/', '-')}.js`)
}
