// Compiles what the package and images hold into build/. A checkout needs none of it. Types are checked by `npm test` alone:
// compiling takes half the time so.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { declarationsForCommonJs, ofRequests } from './public-types.mjs'
import { forBrowsers, isScript, nameOfScript } from '../../gateway/front/http/page-scripts.ts'
import { stripTypes } from '../../gateway/front/http/strip-types.ts'
import { pageFolders, root } from './shared.mjs'

const target = join(root, 'build')

rmSync(target, { recursive: true, force: true })
const compiler = join(root, 'node_modules/typescript/bin/tsc')
const { status } = spawnSync(
  process.execPath,
  [compiler, '-p', join(root, 'config/package.tsconfig.json')],
  { cwd: root, stdio: 'inherit' },
)
if (status !== 0) {
  process.stderr.write('The code does not compile.\n')
  process.exit(1)
}
const types = join(target, 'gateway/index.d.ts')
const declarations = readFileSync(types, 'utf8')
writeFileSync(types, declarations + ofRequests)
writeFileSync(types.replace(/ts$/, 'cts'), declarationsForCommonJs(declarations))
for (const file of filesIn('gateway').filter((file) =>
  /\.(?:lua|html|css|svg|openapi\.json)$/.test(file),
)) {
  cpSync(join(root, file), placeOf(file))
}
for (const folder of pageFolders) {
  const scripts = filesIn(folder).filter(isScript)
  const texts = await stripTypes(scripts.map((file) => readFileSync(join(root, file), 'utf8')))
  scripts.forEach((file, i) =>
    writeFileSync(placeOf(nameOfScript(file)), forBrowsers(relative(folder, file), texts[i])),
  )
}

function filesIn(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

/** Where a file goes, in a folder that is there. */
function placeOf(file) {
  const place = join(target, file)
  mkdirSync(dirname(place), { recursive: true })
  return place
}
