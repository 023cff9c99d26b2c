import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../backend/database.ts'
import { seed } from '../../backend/seed.ts'
import { measure, type Contestant, type Say, type Settings } from './measure.ts'
import { table } from './rows.ts'
import { bytes } from './wire.ts'

const program = 'test/bench/store.ts'
const json = { 'Content-Type': 'application/json' }
const insert = bytes('POST', '/v1/pets', json, '{"name":"Rex","categoryId":9007199254740993}')

/** The animal store beside a bare Fastify route that answers with the same bytes. */
export async function benchBackend(settings: Settings, say: Say, progress: Say): Promise<object> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  try {
    const file = join(folder, 'animals.db')
    const database = openDatabase(file)
    seed(database, 1_000_000, () => undefined)
    database.close()
    const ask = (
      name: string,
      kind: string,
      request: Contestant['request'],
      status = 200,
    ): Contestant => ({
      name,
      server: {
        program,
        args: [kind, kind === 'alone' || kind === 'together' ? join(folder, `${kind}.db`) : file],
      },
      request,
      status,
    })
    const random = (): number => 1 + Math.floor(Math.random() * 999_000)
    const rows = await measure(
      [
        ask('a constant of one pet, bare Fastify', 'pet', () => bytes('GET', '/')),
        ask('read one of a million', 'store', () => bytes('GET', `/v1/pets/${random()}`)),
        ask('a constant of 20 pets, bare Fastify', 'list', () => bytes('GET', '/')),
        ask('list 20, first page of a million', 'store', () => bytes('GET', '/v1/pets')),
        ask('list 20, last page of a million', 'store', () =>
          bytes('GET', '/v1/pets?after=999970'),
        ),
        ask('list 20, anywhere, with a status', 'store', () =>
          bytes('GET', `/v1/pets?status=sold&after=${random()}`),
        ),
        ask('insert, one commit a row', 'alone', () => insert, 201),
        ask('insert, group commit', 'together', () => insert, 201),
      ],
      settings,
      progress,
    )
    say(`\n${table(rows, 'the animal store')}`)
    const [alone, together] = rows.slice(-2)
    say(
      `\ngroup commit: ${((together?.perSecond ?? NaN) / (alone?.perSecond ?? NaN)).toFixed(1)} × the inserts a second`,
    )
    return rows
  } finally {
    rmSync(folder, { recursive: true })
  }
}
