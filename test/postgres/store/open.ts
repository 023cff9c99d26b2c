import type { OwnStores } from '../../../gateway/index.ts'
import { postgresCounts } from './counts.ts'
import { openDatabase } from './database.ts'
import { postgresDocuments } from './documents.ts'
import { postgresKeys } from './keys.ts'
import { postgresLists } from './lists.ts'
import { postgresMessages } from './messages.ts'
import { postgresQuotas } from './quotas.ts'

/** Opens the six shelves in a PostgreSQL. */
export function openPostgres(
  url: string,
  testClock?: () => number,
): Omit<OwnStores, 'refusals' | 'notices'> {
  const database = openDatabase(url, testClock)
  const documents = postgresDocuments(database)
  const shelves = {
    keys: postgresKeys(database),
    quotas: postgresQuotas(database, documents),
    counts: postgresCounts(database),
    lists: postgresLists(database),
    documents,
    messages: postgresMessages(database),
  }
  return {
    ...shelves,
    warnings: [],
    ready: () => database.query('SELECT 1').then(() => undefined),
    waitsFor: (error) => `PostgreSQL${error ? `: ${error.message}` : ''}`,
    async close() {
      await Promise.all([shelves.keys.close(), shelves.quotas.close()])
      shelves.messages.close()
      await database.close()
    },
  }
}
