import { rememberedMs, type Document, type Documents } from '../../shelves/documents.ts'
import { keyedScript, type RedisOptions } from './script.ts'

/** The least time limit of a put, which may be large. */
const putTimeoutMs = 2_000

/** Documents in Redis: a hash for each folder, which ends with its last document. */
export function redisDocuments(options: Omit<RedisOptions, 'breaker'>): Documents {
  const { connection, prefix, timeoutMs, testClock } = options
  const slow = { connection, timeoutMs: Math.max(timeoutMs, putTimeoutMs) }
  const put = keyedScript({ ...slow, file: 'documents-put.lua' })
  const read = keyedScript({ connection, timeoutMs, file: 'documents-read.lua', inBytes: true })
  // A brace of a folder's name would end the part that decides the slot.
  const hashOf = (folder: string): string => `${prefix}{documents:${encodeURIComponent(folder)}}`

  const readIn = async (folder: string, act: 'take' | '', ...names: readonly string[]) => {
    const args = [testClock?.() ?? '', act, rememberedMs, ...names]
    const [nowMs, ...flat] = (await read(hashOf(folder), ...args)) as [number, ...Buffer[]]
    const documents: Document[] = []
    for (let i = 0; i + 1 < flat.length; i += 2) {
      documents.push(documentOf(String(flat[i]), flat[i + 1] ?? Buffer.alloc(0)))
    }
    return { nowMs, documents }
  }

  return {
    list: (folder) => readIn(folder, ''),
    get: async (folder, name) => (await readIn(folder, '', name)).documents[0],
    take: async (folder, name) => (await readIn(folder, 'take', name)).documents[0],

    async put(folder, name, body, { keptMs, version = '' }) {
      const args = [testClock?.() ?? '', name, version, keptMs, body]
      return (await put(hashOf(folder), ...args)) === 1
    },
  }
}

function documentOf(name: string, text: Buffer): Document {
  const end = text.indexOf('\n')
  const head = text.toString('latin1', 0, end)
  const space = head.indexOf(' ')
  const [version, untilMs] = [Number(head.slice(0, space)), Number(head.slice(space))]
  return { name, version, untilMs, body: text.subarray(end + 1) }
}
