import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { root } from './support/process.ts'

/** Forbidden imports, by paths and by names of packages. */
const walls: readonly { from: RegExp; notTo: RegExp; because: string }[] = [
  { from: /^gateway\//, notTo: /^backend\//, because: 'the gateway knows no backend' },
  { from: /^backend\//, notTo: /^gateway\//, because: 'the backend knows no gateway' },
  { from: /^shared\//, notTo: /^(?:gateway|backend)\//, because: 'what is shared stands alone' },
  { from: /^(?:gateway|backend|shared)\//, notTo: /^test\//, because: 'tests are not shipped' },
  {
    from: /^(?!shared\/schema\.ts)/,
    notTo: /^typebox/,
    because: 'shared/schema.ts makes schemas without loading all of TypeBox',
  },
  {
    from: /^(?!shared\/spans\/)/,
    notTo: /^@opentelemetry\//,
    because:
      'OpenTelemetry’s packages are optional, and loaded in shared/spans/ only where spans are made',
  },
  {
    from: /^gateway\/stages\//,
    notTo: /^gateway\/stages\//,
    because: 'stages meet in guard.ts only',
  },
  {
    from: /^gateway\/stages\//,
    notTo: /^(?:gateway\/stores\/(?:embedded|redis)|ioredis|rate-limiter-flexible)/,
    because: 'a stage sees the interface of a store, never its technology',
  },
  {
    from: /^gateway\/operations\//,
    notTo: /^(?:gateway\/(?:cli|admin)\/|fastify)/,
    because: 'an operation does not know who shows it',
  },
  {
    from: /^gateway\/stores\//,
    notTo: /^(?:gateway\/stages\/|fastify)/,
    because: 'stores know no HTTP',
  },
]

/**
 * The floors of the gateway, from the ground up: code that runs is imported from the same floor or one below
 * (types may come from anywhere). Places are beginnings of paths, below `gateway/`.
 */
const floors: readonly (readonly string[])[] = [
  ['http/'],
  ['limits/'],
  ['keys/', 'request-record.ts'],
  ['records/'],
  ['explain/', 'fleet/', 'foresight/', 'ledger/', 'swaps/', 'traces/'],
  ['live/'],
  ['stores/', 'config/', 'forwarding/', 'mirror/', 'notices/', 'acts/'],
  ['stages/'],
  ['portal/'],
  ['core.ts', 'guard.ts', 'guarded-routes.ts', 'routes.ts', 'stranger.ts', 'way.ts', 'server.ts'],
  ['operations/', 'plugin.ts'],
  ['thread/'],
  ['admin/'],
  ['cli/', 'index.ts', 'main.ts', 'worker-pool.ts'],
]

/** The arrows that run up, and why. */
const upwards: Readonly<Record<string, string>> = {
  'limits/terms.ts > keys/caller.ts': 'terms are kept with the caller that they are of',
  'portal/rotation.ts > operations/key-desk.ts':
    'a caller’s key is rotated at the desk that operators use',
}

/** The only files that may touch `process`, beside Node's version. All others get what they need as arguments. */
const touchProcess = /^(?:gateway|backend)\/main\.ts$|^gateway\/(?:cli|config)\//

const folders = ['gateway', 'backend', 'shared']
const files = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
)

/** Imports of more than types, at the start of a file. */
const valuesFrom = /^(?:import|export) (?!type )[^']*?from '([^']+)'/gm

function importsOf(file: string, pattern = /(?:from|import)\s*\(?\s*'([^']+)'/g): string[] {
  const source = readFileSync(join(root, file), 'utf8')
  const found = [...source.matchAll(pattern)].map(([, name = '']) => name)
  return found.map((name) =>
    name.startsWith('.') ? relative(root, resolve(root, file, '..', name)) : name,
  )
}

t.test('the walls of the house stand', (t) => {
  let imports = 0
  for (const file of files) {
    for (const imported of importsOf(file)) {
      imports++
      for (const { from, notTo, because } of walls) {
        if (from.test(file) && notTo.test(imported))
          t.fail(`${file} imports ${imported}: ${because}`)
      }
    }
  }
  t.comment(`${files.length} files, ${imports} imports`)
  t.ok(files.length > 10 && imports > files.length, 'something was looked at')
  t.end()
})

t.test('no floor of the gateway stands on one above it', (t) => {
  const floorOf = (file: string): number =>
    floors.findIndex((floor) => floor.some((place) => file.startsWith(place)))
  const found = new Set<string>()
  for (const file of files.filter((file) => file.startsWith('gateway/'))) {
    const from = relative('gateway', file)
    t.ok(floorOf(from) >= 0, `${file} stands on a floor`)
    for (const imported of importsOf(file, valuesFrom)) {
      if (!imported.startsWith('gateway/')) continue
      const to = relative('gateway', imported)
      const arrow = `${from} > ${to}`
      if (floorOf(to) > floorOf(from)) found.add(arrow)
    }
  }
  t.strictSame([...found], Object.keys(upwards))
  t.end()
})

t.test('only shared/node reaches into Node’s private parts', (t) => {
  const fields =
    /\b_(?:header|headerSent|hasBody|last|httpMessage|handle|keepAliveTimeout|closed)\b|'parser'|\bonIncoming\b|\bdestroySoon\b/
  const readme = readFileSync(join(root, 'shared', 'node', 'README.md'), 'utf8')
  const code = (file: string): string =>
    readFileSync(join(root, file), 'utf8').replace(/\/\*[^]*?\*\/|\/\/.*/g, '')
  const isSeam = (file: string): boolean => file.startsWith(join('shared', 'node'))
  for (const file of files.filter((file) => !isSeam(file))) {
    t.notMatch(code(file), new RegExp(`(?:'|\\.|declare )(?:${fields.source})`), file)
  }
  const used = new Set(
    files.filter(isSeam).flatMap((file) => code(file).match(new RegExp(fields, 'g')) ?? []),
  )
  const listed = new Set(readme.match(new RegExp(fields.source.replaceAll("'", '`'), 'g')))
  const plain = (names: Set<string>): string[] =>
    [...names].map((name) => name.replace(/['`]/g, '')).sort()
  t.strictSame(plain(listed), plain(used), 'its README lists those that are used')
  t.end()
})

t.test('OpenTelemetry’s packages are imported when they are needed, never at start', (t) => {
  const spans = files.filter((file) => file.startsWith(join('shared', 'spans')))
  const atStart = /^(?:import|export) (?!type )[^']*?'([^']+)'/gm
  for (const file of spans) {
    const imported = importsOf(file, atStart).filter((name) => name.startsWith('@opentelemetry/'))
    t.strictSame(imported, [], file)
  }
  const later = importsOf(join('shared', 'spans', 'open.ts'), /\bimport\('(@[^/']+\/[^/']+)/g)
  const { optionalDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  ) as Record<'optionalDependencies', Record<string, string>>
  const peer = '@opentelemetry/api'
  t.strictSame([...new Set([peer, ...later])].sort(), Object.keys(optionalDependencies).sort())
  t.end()
})

t.test('a command starts without the packages that few commands need', (t) => {
  const loaded = new Set([join('gateway', 'cli', 'main.ts')])
  for (const file of loaded) {
    if (!files.includes(file)) continue
    for (const imported of importsOf(file, valuesFrom)) loaded.add(imported)
  }
  const packages = [...loaded].filter((name) => !files.includes(name) && !name.startsWith('node:'))
  t.strictSame(packages.sort(), ['typebox/schema', 'yaml'])
  t.end()
})

t.test('V8’s flags are set before any other code of the gateway runs', (t) => {
  t.equal(importsOf(join('gateway', 'main.ts'))[0], join('shared', 'node', 'v8-flags.ts'))
  const others = files.filter((file) => file !== join('shared', 'node', 'v8-flags.ts'))
  for (const file of others) {
    t.notMatch(readFileSync(join(root, file), 'utf8'), 'setFlagsFromString', file)
  }
  t.end()
})

t.test('only the rim of the house touches the process', (t) => {
  for (const file of files.filter((file) => !touchProcess.test(file))) {
    const code = readFileSync(join(root, file), 'utf8').replace(/\/\*[^]*?\*\/|\/\/.*/g, '')
    t.notMatch(code, /(?<![.\w'])process\.(?!server|versions)|from 'node:process'/, file)
  }
  t.end()
})

t.test('the quick lane needs no Redis and starts no process', async (t) => {
  const { lanes } = (await import(pathToFileURL(join(root, 'config/scripts/lanes.mjs')).href)) as {
    lanes: Record<'quick' | 'seams', string[]>
  }
  const sourceOf = (file: string): string => readFileSync(join(root, file), 'utf8')
  for (const file of lanes.seams) t.ok(sourceOf(file), file)
  for (const file of lanes.quick) {
    t.notMatch(
      sourceOf(file),
      /\b(?:start(?:Redis|Cluster|Sentinel|Process|Fleet|Browser)|spawn|execFile)(?:Sync)?\(/,
      file,
    )
  }
})
