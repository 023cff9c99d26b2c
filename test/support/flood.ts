import { setFlagsFromString } from 'node:v8'
import { KeyDirectory } from '../../gateway/front/keys/directory.ts'
import { hashOf, newKeyId, newToken } from '../../gateway/front/keys/token.ts'
import { Strangers } from '../../gateway/front/limits/strangers.ts'
import { openGatewayFile } from '../../gateway/front/stores/embedded/database.ts'
import { connect, whenReady } from '../../gateway/front/stores/redis/connect.ts'
import { redisStrangers } from '../../gateway/front/stores/redis/strangers.ts'
import { breathe } from '../../shared/breathe.ts'
import { Refusal } from '../../shared/refusal.ts'
import { embeddedKeys } from '../../gateway/front/stores/embedded/keys.ts'
import { collectGarbage } from './garbage.ts'

// A quarter of a million well-formed tokens of keys that don't exist, in a process of its own, whose memory is
// then its own too; with the URL of a Redis, strangers are counted there as well. Prints what came of it as JSON.

// V8 lets its half-spaces grow with the load and never shrinks them: by 16 MB on Node 22, 112 on Node 24, whatever
// the flood leaves behind. Here they stay as they are.
setFlagsFromString('--semi-space-growth-factor=1')

const store = embeddedKeys(openGatewayFile(':memory:'))
const id = newKeyId()
const token = newToken(id)
await store.add([
  { id, name: 'good', plan: 'free', createdAtMs: 0, secrets: [{ hash: hashOf(token) }] },
])
const directory = new KeyDirectory({ store, cacheSize: 1_000, clock: Date.now })
const [, , url] = process.argv
const timeoutMs = 5_000
const connection = url === undefined ? undefined : connect({ url }, { timeoutMs })
if (connection) await whenReady(connection, timeoutMs)
const strangers = new Strangers({
  limits: { perMinute: 60, perDay: 1_000 },
  clock: Date.now,
  store: connection && redisStrangers({ connection, prefix: 'tollgate:', timeoutMs }),
})
directory.look(token)

const refusal = new Refusal('invalid_api_key', 'The API key is not valid.')

/** Handles a token as the gateway does, as far as memory is concerned. */
function ask(address: string): void {
  const invented = newToken(newKeyId())
  directory.recall(invented)
  if (strangers.isOver(address) && !directory.mayExist(invented)) return
  directory.look(invented)
  strangers.refuse(address, () => refusal)
}

const address = (i: number): string => `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`
// The memory of a first load isn't the flood's.
for (let i = 0; i < 50_000; i++) ask('4.4.4.4')
await breathe()
collectGarbage()
const before = process.memoryUsage().rss
const startedMs = performance.now()
for (let i = 0; i < 250_000; i++) {
  ask(i < 125_000 ? '1.2.3.4' : address(i))
  // So that what was counted is told meanwhile.
  if (i % 500 === 499) await breathe()
  // Collects garbage now, not when the engine would.
  if (i % 25_000 === 24_999) collectGarbage()
}
const lastedMs = performance.now() - startedMs
const grownMb = (process.memoryUsage().rss - before) / 2 ** 20

let keys = 0
for await (const key of store.list()) if (key) keys++
process.stdout.write(
  JSON.stringify({ grownMb, lastedMs, recalled: directory.recall(token) !== undefined, keys }),
)
process.exit(0)
