import type { IncomingMessage, ServerResponse } from 'node:http'
import t from 'tap'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { startAdmin } from '../../support/admin.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'

type Body = Readonly<{ body: string | Buffer; encoding?: string }>

const plain = (value: unknown): Body => ({ body: JSON.stringify(value) })
const long = plain({ b: 'x'.repeat(65_536) })

t.test('shapes are compared, never values, and through encodings', async (t) => {
  const bodies = { old: plain({}), now: plain({}) }
  const answering = (side: keyof typeof bodies) =>
    startUpstream(t, (_request: IncomingMessage, response: ServerResponse) => {
      const { body, encoding } = bodies[side]
      if (encoding !== undefined) response.setHeader('content-encoding', encoding)
      response.setHeader('content-type', 'application/json').end(body)
    })
  const { url } = await answering('now')
  const { ask } = await startAdmin(t, {
    upstream: await answering('old'),
    upstreamMore: 'probes: [ { request: GET /v1/pets } ]',
  })
  const packed: Body = { body: gzipSync('{"a":1}'), encoding: 'gzip' }
  const rows: readonly (readonly [Body, Body, string[]])[] = [
    [plain({ a: 1 }), plain({ a: 2, b: 3 }), []],
    [
      plain({ a: { b: [{ c: 1 }] } }),
      plain({ a: { b: [{ c: '1' }] } }),
      ['.a.b[].c is a string, not a number'],
    ],
    [plain({ a: [{ b: 1 }] }), plain({ a: [] }), []],
    [plain({ a: 1, b: null }), plain({ a: [] }), ['.a is a list, not a number', '.b is missing']],
    [plain([]), plain(null), ['the body is null, not a list']],
    [plain({ a: 1 }), { body: '<p>' }, ['the body isn’t JSON']],
    [{ body: '<p>' }, plain({ a: 1 }), []],
    [plain({ a: 1 }), packed, []],
    [plain({ b: 1 }), packed, ['.b is missing']],
    [plain({ b: 1 }), { body: deflateSync('{}'), encoding: 'deflate' }, ['.b is missing']],
    [plain({ b: 1 }), { body: brotliCompressSync('{}'), encoding: ' BR' }, ['.b is missing']],
    [plain({ b: 1 }), { body: '{}', encoding: 'zstd' }, []],
    [plain({ b: 1 }), { body: '{}', encoding: 'gzip' }, []],
    [plain({ a: 1 }), long, []],
    [long, plain({ a: 1 }), []],
  ]
  for (const [old, now, breaks] of rows) {
    Object.assign(bodies, { old, now })
    const { findings } = json(await ask('POST', '/admin/upstreams/check', { url }))
    const found = (findings as { breaks: string[] }[]).flatMap((finding) => finding.breaks)
    t.strictSame(found, breaks, breaks.join() || 'the same')
  }
})
