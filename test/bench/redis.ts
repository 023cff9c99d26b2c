import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort, launch, until } from '../support/redis.ts'

export type BenchRedis = Readonly<{
  url: string
  pid: number | undefined
  client: Redis
  /** A folder that is removed with the server. */
  folder: string
}>

/** Lends a redis-server of its own, and a folder, for as long as a measurement takes. */
export async function withRedis(measure: (redis: BenchRedis) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const port = await freePort()
  const args = { '--port': String(port), '--bind': '127.0.0.1', '--save': '', '--dir': folder }
  const server = await launch(Object.entries(args).flat())
  const client = new Redis(port)
  try {
    await until(() => client.status === 'ready')
    await measure({ url: `redis://127.0.0.1:${port}`, pid: server.pid, client, folder })
  } finally {
    client.disconnect()
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  }
}
