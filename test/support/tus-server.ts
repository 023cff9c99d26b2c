import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { startUpstream, type Upstream } from './gateway.ts'

type Upload = { length: number; bytes: Buffer }

/** What such servers let pages read. */
const exposed = 'Location, Tus-Resumable, Upload-Length, Upload-Offset'

/** A server of resumable uploads below `/files` (tus 1.0.0: the core, and creation), with whole addresses. */
export async function startTus(
  t: Test,
): Promise<Upstream & Readonly<{ uploads: ReadonlyMap<string, Upload> }>> {
  const uploads = new Map<string, Upload>()
  const upstream = await startUpstream(t, (request, response) => {
    response.setHeader('tus-resumable', '1.0.0')
    response.setHeader('access-control-expose-headers', exposed)
    const status = request.headers['tus-resumable'] === '1.0.0' ? answer(request, response) : 412
    void Promise.resolve(status).then((status) => response.writeHead(status).end())
  })
  return { ...upstream, uploads }

  function answer(request: IncomingMessage, response: ServerResponse): number | Promise<number> {
    const { method, url = '', headers } = request
    if (method === 'POST' && url === '/files/') {
      const path = `/files/${randomUUID()}`
      uploads.set(path, { length: Number(headers['upload-length']), bytes: Buffer.alloc(0) })
      response.setHeader('location', `http://${headers.host}${path}`)
      return 201
    }
    const upload = uploads.get(url)
    if (!upload) return 404
    if (method === 'HEAD') {
      response.setHeader('upload-offset', upload.bytes.length)
      response.setHeader('upload-length', upload.length)
      return 200
    }
    if (method !== 'PATCH') return 405
    return append(request, response, upload)
  }
}

async function append(
  request: IncomingMessage,
  response: ServerResponse,
  upload: Upload,
): Promise<number> {
  if (request.headers['content-type'] !== 'application/offset+octet-stream') return 415
  if (Number(request.headers['upload-offset']) !== upload.bytes.length) return 409
  upload.bytes = Buffer.concat([upload.bytes, await buffer(request)])
  response.setHeader('upload-offset', upload.bytes.length)
  return 204
}
