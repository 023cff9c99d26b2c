import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the checkout. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** What runs in browsers, each with a tsconfig.json of its own: the pages of operators, those of callers, and what both share. */
export const pageFolders = [
  'gateway/office/admin/console',
  'gateway/front/portal/page',
  'gateway/front/http/page',
]

/** A failure of the set-up, in one sentence that says what to do. */
export class SetupError extends Error {}

/** The first of some programs that is on the path, or in a folder beside it; empty if none is. */
export function findOnPath(names, ...beside) {
  const places = [...(process.env.PATH ?? '').split(delimiter), ...beside].filter(Boolean)
  const files = names.flatMap((name) => places.map((place) => join(place, name)))
  return files.find((file) => existsSync(file)) ?? ''
}

/** One digest over the names and contents of files of this checkout, wherever it lies. */
export function digestOf(files) {
  const hash = createHash('sha256')
  for (const file of files) hash.update(relative(root, file)).update(readFileSync(file))
  return hash.digest('hex')
}

/**
 * Tells people what takes so long: on a terminal a line that counts the seconds, elsewhere a line
 * at each change and every ten seconds. Gives back what to call at the end.
 */
export function showProgress(describe) {
  const screen = process.stderr
  const started = Date.now()
  const seconds = () => Math.round((Date.now() - started) / 1000)
  let told = ''
  let toldAt = 0
  const tell = () => {
    if (screen.isTTY) return screen.write(`\r\x1b[K${describe()} … ${seconds()} s`)
    if (told === describe() && seconds() - toldAt < 10) return
    screen.write(`${describe()} … ${seconds()} s\n`)
    told = describe()
    toldAt = seconds()
  }
  tell()
  const timer = setInterval(tell, 250)
  return (well) => {
    clearInterval(timer)
    if (screen.isTTY) screen.write('\r\x1b[K')
    if (well) screen.write(`${describe().replace(/ \(.*\)$/, '')}: done in ${seconds()} s\n`)
  }
}
