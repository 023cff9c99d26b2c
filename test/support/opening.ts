import { parentPort, workerData } from 'node:worker_threads'
import { openSqlite } from '../../shared/sqlite.ts'

const { bar, workers, files } = workerData as { bar: Int32Array; workers: number; files: string[] }
const tables = 'CREATE TABLE a (x INTEGER); CREATE TABLE b (x INTEGER);'
let failure: string | undefined
files.forEach((file, i) => {
  Atomics.add(bar, i, 1)
  while (Atomics.load(bar, i) < workers) continue
  try {
    openSqlite(file, { tables, format: 7, busyTimeoutMs: 100 }).close()
  } catch (error) {
    failure ??= String(error)
  }
})
parentPort?.postMessage(failure)
