import { join } from 'node:path'
import type { Test } from 'tap'
import { createBackend, type BackendOptions } from '../../backend/app.ts'
import { openDatabase } from '../../backend/database.ts'
import type { Database } from '../../shared/sqlite.ts'
import { caller, type Call } from './http.ts'
import { folderOf } from './folder.ts'

export type Store = Readonly<{ url: string; call: Call; database: Database; file: string }>

/** A real animal store on a free port and a file of its own, gone with the test. */
export async function startStore(
  t: Test,
  options: Partial<Omit<BackendOptions, 'database'>> & { file?: string } = {},
): Promise<Store> {
  const file = options.file ?? join(folderOf(t), 'animals.db')
  const database = openDatabase(file)
  const app = createBackend({ ...options, database })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(async () => {
    await app.close()
    database.close()
  })
  return { url, call: caller(url), database, file }
}
