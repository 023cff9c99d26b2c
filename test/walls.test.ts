import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { cachedDataVersionTag } from 'node:v8'
import t from 'tap'
import { PageFolder } from '../gateway/front/http/page-files.ts'
import { root } from './support/process.ts'

/** Forbidden imports, by paths and by names of packages. */
const walls: readonly { from: RegExp; notTo: RegExp; because: string }[] = [
  { from: /^gateway\//, notTo: /^backend\//, because: 'the gateway knows no backend' },
  { from: /^backend\//, notTo: /^gateway\//, because: 'the backend knows no gateway' },
  { from: /^shared\//, notTo: /^(?:gateway|backend)\//, because: 'what is shared stands alone' },
  { from: /^(?:gateway|backend|shared)\//, notTo: /^test\//, because: 'tests are not shipped' },
  {
    from: /^(?!shared\/spans\/)/,
    notTo: /^@opentelemetry\//,
    because:
      'OpenTelemetry’s packages are optional, and loaded in shared/spans/ only where spans are made',
  },
  {
    from: /^gateway\/front\//,
    notTo: /^gateway\/office\//,
    because: 'callers are served whether or not anybody operates the gateway',
  },
  {
    from: /^gateway\/(?:front|office)\//,
    notTo: /^gateway\/[^/]+$/,
    because: 'the wings meet above them, in the entries',
  },
  {
    from: /^gateway\/front\/stages\//,
    notTo: /^gateway\/front\/stages\//,
    because: 'stages meet in route-stages.ts only',
  },
  {
    from: /^gateway\/(?!front\/(?:acts\/|stages\/5-act))/,
    notTo: /^gateway\/front\/acts\//,
    because: 'one stage acts for test keys, and no other knows of it',
  },
  {
    from: /^gateway\/front\/(?!stores\/)/,
    notTo: /^(?:gateway\/front\/stores\/(?:embedded|redis)|ioredis|better-sqlite3)/,
    because: 'callers are served from the interface of a store, never from its technology',
  },
  {
    from: /^gateway\/office\/operations\//,
    notTo: /^(?:gateway\/office\/(?:cli|admin)\/|fastify)/,
    because: 'an operation does not know who shows it',
  },
  {
    from: /^gateway\/front\/stores\//,
    notTo: /^(?:gateway\/front\/stages\/|fastify)/,
    because: 'stores know no HTTP',
  },
]

/** The only files that may touch `process`, beside Node's version. All others get what they need as arguments. */
const touchProcess =
  /^(?:gateway|backend)\/main\.ts$|^gateway\/serving\.ts$|^gateway\/office\/(?:cli|config)\//

const folders = ['gateway', 'backend', 'shared']
const files = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
)

const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))

/** A file's text without its comments. */
const codeOf = (file: string): string =>
  (sources.get(file) ?? '').replace(/\/\*[^]*?\*\/|\/\/.*/g, '')

/** Those of some files that have something in their code. */
const having = (pattern: RegExp, some: readonly string[]): string[] =>
  some.filter((file) => pattern.test(codeOf(file)))

/** Imports of more than types, at the start of a file. */
const valuesFrom = /^(?:import|export) (?!type )[^']*?from '([^']+)'/gm

function importsOf(file: string, pattern = /(?:from|import)\s*\(?\s*'([^']+)'/g): string[] {
  const found = [...(sources.get(file) ?? '').matchAll(pattern)].map(([, name = '']) => name)
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

/** The room of a file: a folder of a wing, with all below it. A file that lies in no room is one by itself. */
function roomOf(file: string): string {
  const [room = file] = /^gateway\/(?:front|office)\/[^/]+/.exec(file) ?? []
  return room
}

t.test('no rooms need each other, and no files: types count as well', (t) => {
  const ofGateway = files.filter((file) => file.startsWith('gateway/'))
  const imports = ofGateway.flatMap((from) =>
    importsOf(from).flatMap((to) => (to.startsWith('gateway/') ? [[from, to] as const] : [])),
  )
  t.strictSame(knotsOf(imports), [], 'files')
  const betweenRooms = imports
    .map(([from, to]) => [roomOf(from), roomOf(to)] as const)
    .filter(([from, to]) => from !== to)
  t.strictSame(knotsOf(betweenRooms), [], 'rooms')
  const some = ['a b', 'b c', 'c b', 'c d'].map((arrow) => arrow.split(' ') as [string, string])
  t.strictSame(knotsOf(some), [['b', 'c']], 'a knot would be seen')
  t.end()
})

/** Everything that can be come back to from itself, in groups that can come to each other. */
function knotsOf(arrows: readonly (readonly [from: string, to: string])[]): string[][] {
  const next = new Map<string, Set<string>>()
  for (const [from, to] of arrows) next.set(from, (next.get(from) ?? new Set()).add(to))
  const reachable = (from: string): Set<string> => {
    const reached = new Set(next.get(from))
    for (const each of reached) for (const to of next.get(each) ?? []) reached.add(to)
    return reached
  }
  const reachedFrom = new Map([...next.keys()].map((each) => [each, reachable(each)]))
  const isCircular = (each: string): boolean => reachedFrom.get(each)?.has(each) ?? false
  const knots = [...next.keys()]
    .filter(isCircular)
    .map((each) =>
      [...(reachedFrom.get(each) ?? [])].filter((to) => reachedFrom.get(to)?.has(each)).sort(),
    )
  return [...new Set(knots.map((knot) => knot.join()))].map((knot) => knot.split(','))
}

t.test('only shared/node reaches into Node’s private parts', (t) => {
  const fields =
    /\b_(?:header|headerSent|hasBody|last|httpMessage|handle|keepAliveTimeout|closed)\b|'parser'|\bonIncoming\b|\bdestroySoon\b/
  const readme = readFileSync(join(root, 'shared', 'node', 'README.md'), 'utf8')
  const isSeam = (file: string): boolean => file.startsWith(join('shared', 'node'))
  const others = files.filter((file) => !isSeam(file))
  t.strictSame(having(new RegExp(`(?:'|\\.|declare )(?:${fields.source})`), others), [])
  const used = new Set(
    files.filter(isSeam).flatMap((file) => codeOf(file).match(new RegExp(fields, 'g')) ?? []),
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

t.test('what costs a start much comes by the one file that knows how', (t) => {
  const gates = [join('shared', 'commas.ts'), join('shared', 'node', 'http.ts')]
  const others = files.filter((file) => !gates.includes(file))
  const withHttp = others.filter((file) => importsOf(file, valuesFrom).includes('node:http'))
  t.strictSame(withHttp, [], 'shared/node/http.ts')
  const ofProcesses = others.filter((file) => !/\/(?:console|page)\//.test(file))
  t.strictSame(having(/\.toLocale\w*String|\.localeCompare|\bIntl\./, ofProcesses), [], 'languages')
  t.end()
})

t.test('help, version and wrong commands load no package', (t) => {
  const loaded = new Set([join('gateway', 'office', 'cli', 'main.ts')])
  for (const file of loaded) {
    if (!files.includes(file)) continue
    for (const imported of importsOf(file, valuesFrom)) loaded.add(imported)
  }
  const packages = [...loaded].filter((name) => !files.includes(name) && !name.startsWith('node:'))
  t.strictSame(packages, [])
  t.end()
})

const pageFolders = ['gateway/office/admin/console', 'gateway/front/portal/page']

/** What all pages share: it is served beside the files of each. */
const sharedPage = 'gateway/front/http/page'

t.test('pages take no more than types from elsewhere in the gateway', (t) => {
  const values = /(?:^(?:import|export) (?!type )[^']*?\bfrom |^import |\bimport\()'([^']+)'/gm
  for (const folder of [...pageFolders, sharedPage]) {
    for (const file of files.filter((file) => file.startsWith(`${folder}/`))) {
      const others = importsOf(file, values).filter(
        (to) =>
          /^(?:gateway|backend|shared)\//.test(to) &&
          ![folder, sharedPage].some((own) => to.startsWith(`${own}/`)),
      )
      t.strictSame(others, [], file)
    }
  }
  t.end()
})

t.test('each script of a page leads only to scripts that are served with it', async (t) => {
  const names = /(?:\bfrom|\bimport\(?)\s*(["'])([^"'\s]+)\1/g
  for (const folder of pageFolders) {
    const { files } = new PageFolder(join(root, folder))
    for (const name of readdirSync(join(root, sharedPage)).filter((name) => !/json$/.test(name))) {
      t.notOk(
        existsSync(join(root, folder, name)),
        `${folder}/${name} would be served in its place`,
      )
    }
    let imports = 0
    for (const [path, file] of files) {
      if (!path.endsWith('.js')) continue
      for (const [, , name = ''] of String(await file.bytes()).matchAll(names)) {
        imports++
        t.ok(files.has(join(dirname(path), name)), `${path} imports ${name}`)
      }
    }
    t.ok(imports > files.size, folder)
  }
})

t.test('one file sets V8’s flags, and not by being loaded', async (t) => {
  // Of V8 and its flags: kept code is no good for others.
  const tag = cachedDataVersionTag()
  await import('../shared/node/v8-flags.ts')
  t.equal(cachedDataVersionTag(), tag)
  const others = files.filter((file) => file !== join('shared', 'node', 'v8-flags.ts'))
  t.strictSame(having(/setFlagsFromString/, others), [])
})

t.test('only the rim of the house touches the process', (t) => {
  const others = files.filter((file) => !touchProcess.test(file))
  t.strictSame(having(/(?<![.\w'])process\.(?!server|versions)|from 'node:process'/, others), [])
  t.end()
})

t.test('npm test needs packages and a Redis, no browser and no fleet of processes', async (t) => {
  const lanes = (await import(pathToFileURL(join(root, 'config/scripts/lanes.mjs')).href)) as {
    beside: Record<string, string>
    isUsual: (file: string) => boolean
    seams: readonly string[]
    ownProcess: readonly string[]
  }
  const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name))
  for (const file of [...lanes.seams, ...lanes.ownProcess]) t.ok(tests.includes(file), file)
  for (const folder of Object.keys(lanes.beside))
    t.ok(existsSync(join(root, 'test', folder)), folder)
  const others = /\b(?:start(?:Fleet|AsProcess|Browser)|[A-Z]+_BIN|LIBFAKETIME)\b/
  t.strictSame(
    tests.filter(
      (file) =>
        lanes.isUsual(file) &&
        file !== 'test/walls.test.ts' &&
        others.test(readFileSync(join(root, file), 'utf8')),
    ),
    [],
  )
})

/** The names of the windows that each plan must limit: a loop over the list takes their place. */
const namedWindows = /perMinute|perDay|minuteUsed|dayUsed/

/** Pages have their own list, which tests of pages hold. */
const ownWindows = /^gateway\/(?:office\/admin\/console|front\/portal\/page)\//

t.test('few files name a window: everything else goes through the list', (t) => {
  const naming = having(
    namedWindows,
    files.filter((file) => !ownWindows.test(file) && !file.startsWith('gateway/contracts/')),
  )
  t.ok(naming.length > 0 && naming.length <= 15, `${naming.length}: ${naming.join(', ')}`)
  t.end()
})

const mostLines = 58_085

t.test('the house doesn’t grow', (t) => {
  const all = ['gateway', 'backend', 'shared', 'config'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:ts|lua|mjs|css)$/.test(name) && !/^contracts\//.test(name))
      .map((name) => join(root, folder, name)),
  )
  const lines = all.flatMap((file) => {
    const text = readFileSync(file, 'utf8').replace(/^\s*\/\*[^]*?\*\/.*$/gm, '')
    return text.split('\n').filter((line) => !/^\s*(?:\/\/|--|$)/.test(line))
  })
  t.comment(`${lines.length} lines`)
  t.ok(lines.length <= mostLines && lines.length > mostLines / 2, `${lines.length} lines`)
  t.end()
})
