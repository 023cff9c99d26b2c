import pg, { type Client } from 'pg'
import type { Messages } from '../../../gateway/index.ts'
import { answerOf, type Database } from './database.ts'

/** The channel of PostgreSQL that brings the messages of all channels. */
const channelName = 'tollgate'

/** The longest text that NOTIFY takes along, in bytes of JSON; longer ones lie in a table for a while. */
const longestNotice = 7_000
const longKept = 1_000

const againAfterMs = 500

/** Messages by NOTIFY and LISTEN. */
export function postgresMessages({ url, query }: Database): Messages {
  const listeners = new Map<string, (text: string) => void>()
  /** A connection of its own, made when somebody listens. */
  let listening: Promise<Client> | undefined
  let isClosed = false

  async function hear(payload = ''): Promise<void> {
    const [channel = '', text, place] = JSON.parse(payload) as [string, string | null, string]
    if (text !== null) return listeners.get(channel)?.(text)
    const [long] = await query('SELECT body FROM long_messages WHERE place = $1', place)
    if (long) listeners.get(channel)?.(String(JSON.parse(String(long['body']))))
  }

  async function connect(): Promise<Client> {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
    client.on('notification', ({ payload }) => void hear(payload).catch(() => undefined))
    client.on('error', () => undefined)
    client.on('end', () => {
      listening = undefined
      if (!isClosed) setTimeout(() => void listen().catch(() => undefined), againAfterMs).unref()
    })
    await client.connect()
    await client.query(`LISTEN ${channelName}`)
    return client
  }

  function listen(): Promise<Client> {
    return (listening ??= connect().catch((error: unknown) => {
      listening = undefined
      throw error
    }))
  }

  return {
    async send(channel, text) {
      const notice = JSON.stringify([channel, text])
      if (Buffer.byteLength(notice) <= longestNotice) {
        await query('SELECT pg_notify($1, $2)', channelName, notice)
        return
      }
      await query(
        `WITH long AS (INSERT INTO long_messages (body) VALUES ($2) RETURNING place),
           old AS (DELETE FROM long_messages WHERE place < (SELECT place FROM long) - ${longKept})
         SELECT pg_notify($1, json_build_array($3::text, NULL, place::text)::text) FROM long`,
        ...[channelName, JSON.stringify(text), channel],
      )
    },

    async listen(channel, heard) {
      listeners.set(channel, heard)
      // Doing it again does no harm, and shows that the connection is alive.
      await answerOf(async () => (await listen()).query(`LISTEN ${channelName}`))
    },

    close() {
      isClosed = true
      listeners.clear()
      void listening?.then((client) => client.end()).catch(() => undefined)
    },
  }
}
