import type { OwnStores } from '../../../gateway/index.ts'
import { postgresCounts } from './counts.ts'
import { openDatabase, type DatabaseOptions } from './database.ts'
import { postgresDocuments } from './documents.ts'
import { postgresKeys } from './keys.ts'
import { postgresLists } from './lists.ts'
import { postgresMessages } from './messages.ts'
import { postgresQuotas } from './quotas.ts'

/** Opens the six shelves in a PostgreSQL. */
export function openPostgres(url: string, options?: DatabaseOptions): OwnStores {
  const database = openDatabase(url, options)
  const hearing = { documents: postgresDocuments(database), messages: postgresMessages(database) }
  const shelves = {
    ...hearing,
    keys: postgresKeys(database),
    quotas: postgresQuotas(database, hearing),
    counts: postgresCounts(database),
    lists: postgresLists(database),
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
