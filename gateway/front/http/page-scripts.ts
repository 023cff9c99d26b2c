import { readFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The packages that pages import by name. */
const packages = ['preact', 'preact/hooks', 'htm']

/** Whether a file becomes a script in browsers. */
export function isScript(name: string): boolean {
  return /(?<!\.d)\.[jt]s$/.test(name)
}

/** The name of a script in browsers: that of its compiled form. */
export function nameOfScript(name: string): string {
  return isScript(name) ? name.replace(/ts$/, 'js') : name
}

/** The files of packages that browsers get, by their paths beside the pages' own. */
export function packageFiles(): [path: string, bytes: Buffer][] {
  return packages.map((name) => {
    const text = readFileSync(fileURLToPath(import.meta.resolve(name)), 'utf8')
    return [fileOf(name), Buffer.from(text.replace(/\n?\/\/# sourceMappingURL=.*\s*$/, '\n'))]
  })
}

/**
 * A script as browsers get it: with paths in place of packages' names, which browsers know only by import maps, which would
 * be inline scripts; and with the names and places that its modules have there. Nothing changes if it is done twice.
 */
export function forBrowsers(path: string, script: string): string {
  const imports =
    /((?:^|;)\s*(?:import|export)\b[^"';]*?\bfrom\s*|(?:^|;)\s*import\s*|\bimport\()(["'])([^"']+)\2/gm
  return script.replace(imports, (_all, word: string, quote: string, name: string) => {
    const served = placeOf(name)
    if (served === undefined) return `${word}${quote}${nameOfScript(name)}${quote}`
    const to = relative(dirname(path), served)
    return `${word}${quote}${to.startsWith('.') ? to : `./${to}`}${quote}`
  })
}

/** The place of what lies elsewhere here, and beside the pages' own files in browsers; `undefined` for one of these. */
function placeOf(name: string): string | undefined {
  const [, shared] = /^\.\.\/.*\bhttp\/page\/(.+)$/.exec(name) ?? []
  if (shared !== undefined) return nameOfScript(shared)
  if (name.startsWith('.')) return undefined
  if (!packages.includes(name)) throw new Error(`pages can't import ${name}: name it here`)
  return fileOf(name)
}

function fileOf(name: string): string {
  return `vendor/${name.replace('/', '-')}.js`
}
