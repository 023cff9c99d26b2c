// Makes what the package and images hold in build/: few files of JavaScript, because a start loads 540 for a third longer, and the
// declarations of all. A checkout needs none of it. Types are checked by `npm test` alone: compiling takes half the time so.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { build } from 'esbuild'
import { declarationsForCommonJs, ofRequests } from './public-types.mjs'
import { forBrowsers, isScript, nameOfScript } from '../../gateway/front/http/page-scripts.ts'
import { stripTypes } from '../../gateway/front/http/strip-types.ts'
import { pageFolders, root } from './shared.mjs'

const target = join(root, 'build')

/** A module finds its files by where it would be if it weren't in a bundle. */
const ownPlaces = {
  name: 'own places',
  setup(bundling) {
    bundling.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const place = JSON.stringify(relative(root, path).replace(/ts$/, 'js'))
      const text = readFileSync(path, 'utf8')
      return { contents: text.replaceAll('import.meta.url', `(builtAt + ${place})`), loader: 'ts' }
    })
  },
}

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
const own = ['step', 'contracts/index']
await bundle('gateway', ['main', 'index', 'office/cli/main', 'office/thread/main', ...own])
await bundle('gateway', ['supported-node'])
for (const name of ['index', 'office/cli/main'])
  beginWithNode(join(target, 'gateway', `${name}.js`))
await bundle('backend', ['main'])
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

/** Bundles the code of a folder behind its entries. Packages stay outside, and what is loaded late stays in files of its own. */
async function bundle(folder, names) {
  await build({
    ...{ bundle: true, splitting: true, packages: 'external', platform: 'node', format: 'esm' },
    target: 'node22',
    entryPoints: names.map((name) => join(root, folder, `${name}.ts`)),
    ...{ outdir: target, outbase: root, chunkNames: `${folder}/chunks/[name]-[hash]` },
    banner: { js: `const builtAt = import.meta.url.replace(/(.*\\/build\\/).*/, '$1')` },
    plugins: [ownPlaces],
    logLevel: 'warning',
  })
}

/** Has a file look at the Node before anything else: a bundle imports all packages first, wherever its code does. */
function beginWithNode(file) {
  const [, first = '', rest] = /^(#!.*\n)?([^]*)$/.exec(readFileSync(file, 'utf8'))
  const check = relative(dirname(file), join(target, 'gateway/supported-node.js'))
  writeFileSync(file, `${first}import './${check}'\n${rest}`)
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
