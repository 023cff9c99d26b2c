import pg, { type Asked, type Row } from 'pg'
import { StoreUnavailable } from '../../../gateway/index.ts'

/** The most connections of a process, beside the one that listens. */
const mostConnections = 8

/** A text that PostgreSQL takes, whatever is in it: it has no \0. */
export const packed = (text: string): string => JSON.stringify(text)
export const unpacked = (value: unknown): string => String(JSON.parse(String(value)))

export type Database = Readonly<{
  url: string
  /** A test's time; without it the server's is the only one. */
  testClock: (() => number) | undefined
  query: (text: string, ...values: readonly unknown[]) => Promise<readonly Row[]>
  /** Several questions that are one step. */
  within: <Answer>(
    steps: (query: Database['query'], rollBack: () => void) => Promise<Answer>,
  ) => Promise<Answer>
  close: () => Promise<void>
}>

const tables = `
  CREATE TABLE keys (id text PRIMARY KEY, version bigint UNIQUE NOT NULL, line text COLLATE "C" UNIQUE, record text NOT NULL);
  CREATE TABLE secrets (hash text PRIMARY KEY, id text NOT NULL REFERENCES keys ON DELETE CASCADE);
  CREATE TABLE latest (version bigint NOT NULL);
  INSERT INTO latest VALUES (0);
  CREATE TABLE quotas (quota text PRIMARY KEY, state text NOT NULL, kept_until bigint NOT NULL, banned_until bigint NOT NULL,
    version bigint NOT NULL);
  CREATE INDEX ON quotas (banned_until) WHERE banned_until > 0;
  CREATE INDEX ON quotas (kept_until);
  CREATE TABLE batches (space text, by text, number bigint NOT NULL, PRIMARY KEY (space, by));
  CREATE TABLE counts (space text, key text COLLATE "C", part text COLLATE "C", at bigint, numbers bigint[] NOT NULL,
    PRIMARY KEY (space, key, at, part));
  CREATE INDEX ON counts (space, at);
  CREATE TABLE documents (folder text, name text, version bigint NOT NULL, until_ms bigint NOT NULL, body bytea NOT NULL,
    PRIMARY KEY (folder, name));
  CREATE TABLE lists (list text, place bigint GENERATED ALWAYS AS IDENTITY, key text NOT NULL, body text NOT NULL,
    at_ms bigint NOT NULL, PRIMARY KEY (list, place));
  CREATE INDEX ON lists (list, key, place);
  CREATE UNLOGGED TABLE long_messages (place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL);`

/** Makes the tables, where they aren't there: one process does. */
const makeTables = `DO $make$ BEGIN
  PERFORM pg_advisory_xact_lock(4804);
  IF to_regclass('keys') IS NULL THEN ${tables} END IF;
END $make$`

export type DatabaseOptions = Readonly<{
  /** The time limit of a connection and of a question. */
  timeoutMs?: number
  testClock?: (() => number) | undefined
}>

/** Opens a database. The tables are made by the first question: what can't be reached may be there later. */
export function openDatabase(
  url: string,
  { timeoutMs = 2_000, testClock }: DatabaseOptions = {},
): Database {
  const pool = new pg.Pool({
    ...{ connectionString: url, max: mostConnections },
    ...{ connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs },
  })
  pool.on('error', () => undefined)
  // Also of one that is in use: its question fails, or the next one.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  let made: Promise<unknown> | undefined
  const prepared = async (): Promise<void> => {
    made ??= pool.query(makeTables)
    await made.catch((error: unknown) => {
      made = undefined
      throw error
    })
  }
  const ask = async (asked: Asked, text: string, values: readonly unknown[]) =>
    (await asked.query(text, values)).rows

  return {
    url,
    testClock,

    query: (text, ...values) =>
      answerOf(async () => {
        await prepared()
        return ask(pool, text, values)
      }),

    within: (steps) =>
      answerOf(async () => {
        await prepared()
        const client = await pool.connect()
        let end = 'COMMIT'
        try {
          await client.query('BEGIN')
          const answer = await steps(
            (text, ...values) => ask(client, text, values),
            () => (end = 'ROLLBACK'),
          )
          await client.query(end)
          client.release()
          return answer
        } catch (error) {
          // Its connection ends, and with it what it has begun.
          client.release(error as Error)
          throw error
        }
      }),

    close: () => pool.end(),
  }
}

/** Errors of a server that starts, stops or has no room begin so; those of connections have no code of SQL. */
const outOfReach = /^(?:08|53|57)/

/** The answer, or an error that says that the database can't be asked at the moment. */
export async function answerOf<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    const { code, message } = error as Error & { code?: string }
    if (code !== undefined && /^[\dA-Z]{5}$/.test(code) && !outOfReach.test(code)) throw error
    throw new StoreUnavailable(`PostgreSQL: ${message}`, { cause: error })
  }
}

/** The time of the database in SQL, with the place of the parameter that is a test's time. */
export function nowAt(parameter: number): string {
  return `coalesce($${parameter}::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)`
}
