import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { configOf } from '../gateway/config/load.ts'
import type { ConfigFile } from '../gateway/config/file.ts'
import { fileSchema } from '../gateway/config/schema.ts'
import { statusByCode } from '../shared/refusal.ts'
import { root, startProcess } from './support/process.ts'
import { settingsOf } from './support/settings.ts'

const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** The rows of the table whose first column has a name, without what Markdown needs. */
function table(name: string): string[][] {
  const lines = readme.split('\n')
  const start = lines.findIndex((line) => new RegExp(`^\\| ${name} +\\|`).test(line))
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

async function helpOf(t: Test, file: string): Promise<string> {
  const { ended, output } = startProcess(t, file, { args: ['--help'] })
  t.equal((await ended).code, 0)
  return output()
}

t.test('every setting is told, with what may be there', (t) => {
  const told = table('setting').map(([place = '', expected = '']) => [place, expected])
  t.strictSame(told.sort(), [...settingsOf(fileSchema)].sort())
  t.end()
})

t.test('what is told of settings that are left out is what they are', (t) => {
  const base = {
    plans: { free: { perMinute: 1, perDay: 1 } },
    upstreams: { NAME: { targets: [{ url: 'http://127.0.0.1:1' }] } },
    routes: [{ path: '/x', upstream: 'NAME' }],
    deprecations: [{ operation: 'GET /x', since: '2025-12-05' }],
  }
  const written = structuredClone(base) as Record<string, unknown>
  let count = 0
  for (const [place = '', , otherwise = ''] of table('setting')) {
    if (otherwise === '') continue
    const steps = place.replace('plans.NAME', 'plans.free').replaceAll('[]', '.0').split('.')
    put(written, steps, parse(otherwise))
    count++
  }
  t.ok(count > 30, `${count} of them`)
  t.strictSame(configOf(written as unknown as ConfigFile), configOf(base))
  t.end()
})

/** Sets a member of a member, and makes the sections on the way. */
function put(into: Record<string, unknown>, [first = '', ...rest]: string[], value: unknown): void {
  if (rest.length === 0) into[first] = value
  else put((into[first] ??= {}) as Record<string, unknown>, rest, value)
}

t.test('every code of a refusal is told with its status, and no other', (t) => {
  const told = table('status').flatMap(([statuses = '', codes = '']) =>
    codes.split(', ').map((code, i) => {
      const all = statuses.split(', ')
      return [code.replaceAll('`', ''), Number(all[i] ?? all[0])]
    }),
  )
  t.strictSame(Object.fromEntries(told), statusByCode)
  t.end()
})

t.test('every command is told as its help tells it', async (t) => {
  const lines = (await helpOf(t, 'gateway/cli/main.js')).split('\n')
  const commands = lines
    .filter((line) => /^ {2}\S/.test(line))
    .map((line) => (/^ {2}(.*?) {2,}(.*)$/.exec(line) ?? []).slice(1, 3))
  t.ok(commands.length > 15)
  t.strictSame(table('command'), commands)
})

t.test('every variable of the environment is told, and no other', async (t) => {
  const helps = await Promise.all(
    ['gateway/main.js', 'backend/main.js'].map((file) => helpOf(t, file)),
  )
  const names = helps.flatMap((help) => help.match(/^ {2}[A-Z][A-Z_]+/gm) ?? [])
  const shipped = readFileSync(join(root, 'config/gateway.yaml'), 'utf8')
  const substituted = [...shipped.matchAll(/\$\{([A-Z_]+)(?::-|\})/g)].map(([, name = '']) => name)
  const known = new Set(
    [...names.map((name) => name.trim()), ...substituted].filter((name) => name !== 'NAME'),
  )
  const told = table('variable').flatMap(([name = '']) => name.replaceAll('`', '').split(', '))
  t.strictSame(told.sort(), [...known].sort())
})

t.test('every place in README that a link leads to is there', (t) => {
  const places = new Set(
    [...readme.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
  for (const [, place = ''] of readme.matchAll(/\]\(#([^)]*)\)/g)) t.ok(places.has(place), place)
  for (const [, file = ''] of readme.matchAll(/\]\(((?!#|https?:)[^)]*)\)/g)) {
    t.ok(existsSync(join(root, file)), file)
  }
  t.end()
})
