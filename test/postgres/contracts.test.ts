import t, { type Test } from 'tap'
import {
  countsContract,
  documentsContract,
  keysContract,
  listsContract,
  messagesContract,
  quotasContract,
} from '../../gateway/contracts/index.ts'
import type { QuotaStore } from '../../gateway/index.ts'
import { startPostgres } from './server.ts'
import { postgresCounts } from './store/counts.ts'
import { openDatabase, type Database } from './store/database.ts'
import { postgresDocuments } from './store/documents.ts'
import { postgresKeys } from './store/keys.ts'
import { postgresLists } from './store/lists.ts'
import { postgresMessages } from './store/messages.ts'
import { postgresQuotas } from './store/quotas.ts'

const { newDatabase } = await startPostgres(t)

/** Declares the tests of a contract in another one. */
const within = (t: Test) => (name: string, run: () => Promise<void>) => t.test(name, run)

/** An empty database as two processes have it open, by a clock that a test moves. */
async function openTwice() {
  let now: number | undefined
  const url = await newDatabase()
  const open = () => openDatabase(url, () => now as number)
  const [one, two] = [open(), open()]
  const close = async (): Promise<void> => void (await Promise.all([one.close(), two.close()]))
  return { one, two, close, setTime: (ms: number) => void (now = ms) }
}

/** Opens a shelf in an empty database twice. */
function twice<Shelf>(shelfOn: (database: Database) => Shelf) {
  return async () => {
    const { one, two, ...rest } = await openTwice()
    return { first: shelfOn(one), second: shelfOn(two), ...rest }
  }
}

t.test('keys in PostgreSQL', (t) => {
  keysContract({ test: within(t), open: twice(postgresKeys) })
  t.end()
})

t.test('counts in PostgreSQL', (t) => {
  countsContract({ test: within(t), open: twice(postgresCounts) })
  t.end()
})

t.test('documents in PostgreSQL', (t) => {
  documentsContract({ test: within(t), open: twice(postgresDocuments) })
  t.end()
})

t.test('lists in PostgreSQL', (t) => {
  listsContract({ test: within(t), open: twice(postgresLists) })
  t.end()
})

t.test('messages in PostgreSQL', (t) => {
  messagesContract({ test: within(t), open: twice(postgresMessages) })
  t.end()
})

t.test('quotas in PostgreSQL', (t) => {
  const open = async () => {
    const { one, two, close, setTime } = await openTwice()
    const stores: QuotaStore[] = [one, two].map((each) =>
      postgresQuotas(each, postgresDocuments(each)),
    )
    let opened = 0
    const next = () => stores[opened++ % 2] as QuotaStore
    return { store: next(), reopen: () => Promise.resolve(next()), setTime, close }
  }
  quotasContract({ test: within(t), open })
  t.end()
})
