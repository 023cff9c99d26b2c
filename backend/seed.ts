import { petStatuses } from './pets.ts'
import type { Database } from '../shared/sqlite.ts'

const chunk = 10_000
const names = ['Rex', 'Bella', 'Luna', 'Milo', 'Coco', 'Nala', 'Simba', 'Pepper', 'Kiwi', 'Bruno']

/** Fills the store with invented animals, and reports the number after each chunk. */
export function seed(database: Database, count: number, progress: (done: number) => void): void {
  const insert = database.prepare(
    `WITH RECURSIVE serial (n) AS (SELECT :from UNION ALL SELECT n + 1 FROM serial WHERE n < :to)
     INSERT INTO pets (name, categoryId, status)
     SELECT (:names ->> (n % :nameCount)) || ' ' || n, 1 + n % 12, :statuses ->> (n % :statusCount)
     FROM serial`,
  )
  for (let done = 0; done < count; done += chunk) {
    const to = Math.min(done + chunk, count)
    insert.run({
      from: BigInt(done + 1),
      to: BigInt(to),
      names: JSON.stringify(names),
      nameCount: BigInt(names.length),
      statuses: JSON.stringify(petStatuses),
      statusCount: BigInt(petStatuses.length),
    })
    progress(to)
  }
}
