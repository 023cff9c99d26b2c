import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { until } from '../support/until.ts'

/** PostgreSQL refuses to be root's: then it runs as nobody. */
const nobody = 65_534
const isRoot = process.getuid?.() === 0

/** Where root alone may write to /dev/null, which initdb does, it is root's and doesn't see it. */
const mayAll = (statSync('/dev/null').mode & 0o002) !== 0
const asNobody = mayAll
  ? ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups']
  : ['unshare', '--user', `--map-user=${nobody}`, `--map-group=${nobody}`]

const programs = { postgres: process.env['POSTGRES_BIN'], initdb: process.env['INITDB_BIN'] }

function programOf(name: keyof typeof programs): string {
  const found =
    programs[name] ||
    (process.env['PATH'] ?? '')
      .split(':')
      .map((each) => join(each, name))
      .find(existsSync)
  if (found) return found
  throw new Error(
    `This needs ${name} of PostgreSQL 15 or newer: install it, or set ${name.toUpperCase()}_BIN to it.`,
  )
}

/** The time limit of questions in tests: the processors may be others'. */
export const timeoutMs = 30_000

export type Server = Readonly<{
  /** Makes an empty schema, which takes less time than a database; gives its URL. */
  newDatabase: () => Promise<string>
  /** Ends it at once. */
  stop: () => Promise<void>
}>

/** A real PostgreSQL of the test's own, on a socket in a folder. */
export async function startPostgres(t: Test): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-postgres-'))
  if (isRoot && mayAll) chownSync(folder, nobody, nobody)
  const data = join(folder, 'data')
  const options = { cwd: folder, env: { ...process.env, HOME: folder } }
  const commandOf = (name: keyof typeof programs, args: readonly string[]) => {
    const [command = '', ...rest] = [...(isRoot ? asNobody : []), programOf(name), ...args]
    return [command, rest] as const
  }
  const make = [
    '-D',
    data,
    '-U',
    'tollgate',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--no-sync',
    '--locale=C',
  ]
  execFileSync(...commandOf('initdb', make), { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${folder}`,
    'fsync=off',
    'max_connections=100',
  ]
  const args = ['-D', data, ...settings.flatMap((each) => ['-c', each])]
  const child = spawn(...commandOf('postgres', args), {
    ...options,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()))
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) return
    child.kill('SIGQUIT')
    await once(child, 'exit')
  }
  t.teardown(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const url = `postgres://tollgate@localhost/postgres?host=${folder}`
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${dirname(programOf('postgres'))}: ${errors}`)
    return ask('SELECT 1').then(
      () => true,
      () => false,
    )
  })
  let made = 0
  const newDatabase = async (): Promise<string> => {
    const name = `store${++made}`
    await ask(`CREATE SCHEMA ${name}`)
    return `${url}&options=${encodeURIComponent(`-c search_path=${name}`)}`
  }
  return { newDatabase, stop }

  async function ask(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    await client.connect()
    await client.query(text)
    await client.end()
  }
}
