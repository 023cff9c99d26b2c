// The tests on another Node: npm run test:on -- 24, or 24.21.0; what follows goes to npm test, which runs all without it.
const { spawnSync } = await import('node:child_process')
const { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } =
  await import('node:fs')
const { delimiter, join } = await import('node:path')
const { npmCommand } = await import('./npm.mjs')
const { root, SetupError } = await import('./shared.mjs')

const [wanted = '', ...words] = process.argv.slice(2)
/** Folders that aren't copied: each copy has its own, so that several Nodes can run, or no test reads them. */
const own = ['node_modules', '.cache', 'build', '.tap', 'data', '.git']

try {
  if (!/^\d+(?:\.\d+){0,2}$/.test(wanted)) {
    throw new SetupError('Which Node? For instance: npm run test:on -- 24')
  }
  process.exitCode = testOn(fetchNode(wanted))
} catch (error) {
  if (!(error instanceof SetupError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

/** The newest Node of a line, from npm's registry into this checkout's cache; gives its folder. */
function fetchNode(line) {
  const system = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${system}-${process.arch}`
  const answer = npm(['view', `${name}@${line}`, 'version', '--json'], root)
  const versions = answer.trim() === '' ? [] : [JSON.parse(answer)].flat()
  const version = versions
    .filter((version) => /^[\d.]+$/.test(version))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .at(-1)
  if (version === undefined) throw new SetupError(`npm's registry has no ${name}@${line}.`)
  const folder = join(root, '.cache', 'nodes', version)
  const home = join(folder, 'node_modules', name)
  if (!existsSync(join(home, 'bin', 'node'))) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
    npm(['install', '--no-save', '--no-audit', '--no-fund', `${name}@${version}`], folder)
  }
  return { version, folder, bin: join(home, 'bin') }
}

/** Brings a copy of this checkout up to date and tests it there; gives the exit code. */
function testOn({ version, folder, bin }) {
  const copy = join(folder, 'checkout')
  mkdirSync(copy, { recursive: true })
  for (const name of readdirSync(copy)) {
    if (!own.includes(name)) rmSync(join(copy, name), { recursive: true })
  }
  for (const name of readdirSync(root)) {
    if (!own.includes(name)) cpSync(join(root, name), join(copy, name), { recursive: true })
  }
  process.stdout.write(`# Node ${version}, in ${copy}\n`)
  const [command, ...first] = npmCommand()
  const [program, ...args] = [...(first.length > 0 ? [join(bin, 'node')] : [command]), ...first]
  const { status } = spawnSync(
    program,
    [...args, 'test', '--', ...(words.length > 0 ? words : ['all'])],
    {
      cwd: copy,
      stdio: 'inherit',
      env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
    },
  )
  return status ?? 1
}

function npm(args, cwd) {
  const [command, ...first] = npmCommand()
  const { status, stdout, stderr, error } = spawnSync(command, [...first, ...args], {
    cwd,
    encoding: 'utf8',
  })
  if (status === 0) return stdout
  const reason = error?.message ?? /npm (?:error|ERR!) (?!code )(.+)/.exec(stderr)?.[1] ?? stderr
  throw new SetupError(`npm can't fetch that Node: ${reason}.`)
}
