import type { Key, KeyListener, KeyStore, StoredKey, Watch } from '../../../gateway/index.ts'
import { fits, lineOf, pageBy, type KeyIndex } from '../../../gateway/step.ts'
import type { Database } from './database.ts'

type Row = Readonly<Record<string, unknown>>

const atOnce = 1_000
const namedAtOnce = 200
const addedAtOnce = 500
const pollMs = 250

/** Keys in a table, with an index of their lines, and one count of versions, whose row orders all changes. */
export function postgresKeys({ query, within }: Database): KeyStore {
  const polls = new Set<() => void>()

  const index: KeyIndex = {
    // A line is a column of its key's row: none is missing, and none is another's.
    catchUp: () => Promise.resolve(),
    remove: () => Promise.resolve(),

    async walk(after, filter, most) {
      const rows = await query(
        `SELECT line, record, version FROM keys WHERE line > $1 ORDER BY line LIMIT ${atOnce}`,
        after,
      )
      const read = rows.map(({ line, record, version }) => ({
        ...{ line: String(line), record: String(record), version: Number(version) },
      }))
      const found = read.filter(({ line }) => fits(line, filter)).slice(0, most)
      const end = found.length === most ? found.at(-1)?.line : read.at(-1)?.line
      const isLast = rows.length < atOnce && found.length < most
      return isLast || end === undefined ? { found } : { found, end }
    },
  }

  /** The next versions, in the order in which their changes come to be. */
  async function nextVersions(query: Database['query'], count = 1): Promise<number> {
    const [row] = await query('UPDATE latest SET version = version + $1 RETURNING version', count)
    return Number(row?.['version']) - count + 1
  }

  async function clashIn(query: Database['query'], keys: readonly Key[]): Promise<number> {
    const hashes = keys.flatMap(({ secrets }) => secrets.map(({ hash }) => hash))
    const rows = await query(
      `SELECT id AS taken FROM keys WHERE id = ANY($1) UNION ALL SELECT hash FROM secrets WHERE hash = ANY($2)`,
      ...[keys.map(({ id }) => id), hashes],
    )
    const taken = new Set(rows.map((row) => row['taken']))
    return keys.findIndex(({ id, secrets }) => {
      const own = [id, ...secrets.map(({ hash }) => hash)]
      const isTaken = own.some((each) => taken.has(each))
      own.forEach((each) => taken.add(each))
      return isTaken
    })
  }

  return {
    async find(hash) {
      return stored(
        await query('SELECT k.* FROM secrets JOIN keys k USING (id) WHERE hash = $1', hash),
      )
    },

    async get(id) {
      return stored(await query('SELECT * FROM keys WHERE id = $1', id))
    },

    async *list() {
      for await (const rows of pages('SELECT id AS place, record FROM keys WHERE id > $1'))
        for (const { record } of rows) yield keyIn(record)
    },

    page: (asked) => pageBy(index, asked),

    async *named(ids) {
      for (let i = 0; i < ids.length; i += namedAtOnce) {
        const some = ids.slice(i, i + namedAtOnce)
        const rows = await query('SELECT record FROM keys WHERE id = ANY($1)', some)
        yield rows.map(({ record }) => {
          const { id, name, reference, test } = keyIn(record)
          return { id, name, ...(reference !== undefined && { reference }), ...(test && { test }) }
        })
      }
    },

    async *names() {
      for await (const rows of pages('SELECT hash AS place FROM secrets WHERE hash > $1'))
        yield rows.map(({ place }) => String(place))
    },

    add: (keys, progress) =>
      within(async (query, rollBack) => {
        const all = [...keys]
        const first = await nextVersions(query, all.length)
        for (let i = 0; i < all.length; i += addedAtOnce) {
          const some = all.slice(i, i + addedAtOnce)
          const clash = await clashIn(query, some)
          if (clash !== -1) {
            rollBack()
            return { clash: i + clash }
          }
          await query(
            'INSERT INTO keys SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[])',
            ...[some.map(({ id }) => id), some.map((_, j) => first + i + j)],
            ...[some.map(lineOf), some.map((key) => JSON.stringify(key))],
          )
          const secrets = some.flatMap(({ id, secrets }) =>
            secrets.map(({ hash }) => ({ id, hash })),
          )
          await query(
            'INSERT INTO secrets SELECT * FROM unnest($1::text[], $2::text[])',
            ...[secrets.map(({ hash }) => hash), secrets.map(({ id }) => id)],
          )
          progress?.(i + some.length)
        }
        return {}
      }),

    replace: (key, version) =>
      within(async (query) => {
        const replaced = await query(
          'UPDATE keys SET version = $1, line = $2, record = $3 WHERE id = $4 AND version = $5 RETURNING 1',
          ...[await nextVersions(query), lineOf(key), JSON.stringify(key), key.id, version],
        )
        if (replaced.length === 0) return false
        const hashes = key.secrets.map(({ hash }) => hash)
        await query(
          `INSERT INTO secrets SELECT hash, $2 FROM unnest($1::text[]) hash
           WHERE NOT EXISTS (SELECT FROM secrets s WHERE s.hash = hash.hash AND s.id = $2)`,
          ...[hashes, key.id],
        )
        return true
      }),

    async remove({ key, version }) {
      const removed = await query(
        'DELETE FROM keys WHERE id = $1 AND version = $2 RETURNING 1',
        ...[key.id, version],
      )
      return removed.length === 1
    },

    watch: (listener) => watchKeys(query, listener, polls),

    close() {
      polls.forEach((end) => end())
      return Promise.resolve()
    },
  }

  /** Rows in the order of their column `place`, some at a time. */
  async function* pages(select: string): AsyncGenerator<readonly Row[]> {
    let after = ''
    for (;;) {
      const rows = await query(`${select} ORDER BY place LIMIT ${atOnce}`, after)
      if (rows.length === 0) return
      yield rows
      after = String(rows.at(-1)?.['place'])
    }
  }
}

/** Polls for changes since the latest version. */
function watchKeys(
  query: Database['query'],
  { changed, trouble }: KeyListener,
  polls: Set<() => void>,
): Watch {
  let [seen, upToDateAtMs, isFailing]: [number | undefined, number, boolean] = [undefined, 0, false]
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  const end = (): void => {
    isClosed = true
    clearTimeout(timer)
    polls.delete(end)
  }
  polls.add(end)

  async function poll(): Promise<void> {
    const askedAtMs = Date.now()
    if (seen === undefined) {
      seen = Number((await query('SELECT version FROM latest'))[0]?.['version'])
    } else {
      for (;;) {
        const rows = await query(
          `SELECT record, version FROM keys WHERE version > $1 ORDER BY version LIMIT ${atOnce}`,
          seen,
        )
        if (rows.length === 0) break
        changed(rows.map(storedIn))
        seen = Number(rows.at(-1)?.['version'])
      }
    }
    upToDateAtMs = askedAtMs
  }

  async function go(): Promise<void> {
    try {
      await poll()
      if (isFailing) trouble?.(undefined)
      isFailing = false
    } catch (error) {
      if (!isFailing) trouble?.(error as Error)
      isFailing = true
    }
    if (!isClosed) timer = setTimeout(() => void go(), pollMs).unref()
  }
  void go()
  return {
    get upToDateAtMs() {
      return upToDateAtMs
    },
    get isMet() {
      return seen !== undefined
    },
    close: end,
  }
}

function stored([row]: readonly Row[]): StoredKey | undefined {
  return row && storedIn(row)
}

function storedIn({ record, version }: Row): StoredKey {
  return { key: keyIn(record), version: Number(version) }
}

function keyIn(record: unknown): Key {
  return JSON.parse(String(record)) as Key
}
