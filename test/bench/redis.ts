import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { startRedis, type Ends } from '../support/redis.ts'
import { until } from '../support/until.ts'

export type BenchRedis = Readonly<{
  url: string
  port: number
  pid: number | undefined
  client: Redis
  /** A folder that is removed with the server. */
  folder: string
}>

/** Lends a redis-server of its own, and a folder, for as long as a measurement takes. */
export function withRedis(measure: (redis: BenchRedis) => Promise<void>): Promise<void> {
  return lend(async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const { url, port, client, child } = await startRedis(t)
    await until(() => client.status === 'ready')
    await measure({ url, port, pid: child().pid, client, folder })
  })
}

/** Lets a measurement use servers that tests start, and ends them after it. */
export async function lend(measure: (t: Ends) => Promise<void>): Promise<void> {
  const ends: (() => unknown)[] = []
  try {
    await measure({ teardown: (end: () => unknown) => void ends.push(end) })
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}
