import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startGateway } from '../support/gateway.ts'
import { raw } from '../support/http.ts'
import { nginxConfig, startProgram } from '../support/program.ts'
import { atSomePort } from '../support/redis.ts'
import { rawRequests } from './raw-requests.ts'
import { laxer, stricter } from './differences.ts'

/** The outcome of a request: the number of requests that the backend got, and the first status. */
type Outcome = Readonly<{ heard: number; status: string }>

/** A backend that counts what it hears on each path, and answers everything. */
async function startBackend(t: Test) {
  let heard: string[] = []
  const server = createServer((request, response) => {
    // An incomplete request doesn't count: only complete ones can be acted upon.
    request.once('end', () => {
      heard.push(`${request.method} ${request.url}`)
      response.end('{}')
    })
    request.resume().on('error', () => undefined)
  })
  server.on('clientError', (error: Error & { code?: string }, socket: Socket) => {
    const isCutShort = error.code === 'ECONNRESET' || error.code === 'HPE_INVALID_EOF_STATE'
    if (!isCutShort) heard.push(`what is no HTTP: ${error.code}`)
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const take = (): string[] => {
    const taken = heard
    heard = []
    return taken
  }
  return { url: `http://127.0.0.1:${port}`, port, take, seen: [] }
}

function startNginx(t: Test, binary: string, backend: number): Promise<string> {
  return atSomePort((port) =>
    startProgram(t, port, binary, (folder) => {
      const file = join(folder, 'nginx.conf')
      const place = `proxy_pass http://127.0.0.1:${backend}; proxy_http_version 1.1;`
      const server = `listen 127.0.0.1:${port}; location / { ${place} }`
      writeFileSync(file, nginxConfig(folder, `server { ${server} }`))
      return ['-p', folder, '-c', file, '-e', '/dev/stderr']
    }),
  )
}

function startHaproxy(t: Test, binary: string, backend: number): Promise<string> {
  return atSomePort((port) =>
    startProgram(t, port, binary, (folder) => {
      const file = join(folder, 'haproxy.cfg')
      writeFileSync(
        file,
        `defaults
  mode http
  timeout connect 1s
  timeout client 5s
  timeout server 5s
frontend in
  bind 127.0.0.1:${port}
  default_backend out
backend out
  server one 127.0.0.1:${backend}
`,
      )
      return ['-db', '-q', '-f', file]
    }),
  )
}

const servers = { nginx: process.env['NGINX_BIN'], haproxy: process.env['HAPROXY_BIN'] }
const missing = Object.entries(servers)
  .filter(([, binary]) => !binary)
  .map(([name]) => name)

t.test(
  'what nginx or haproxy refuses is refused, what both take is taken, or the table says why not',
  missing.length > 0 ? { skip: `not to be had here: ${missing.join(', ')}` } : {},
  async (t) => {
    const backends = {
      gateway: await startBackend(t),
      nginx: await startBackend(t),
      haproxy: await startBackend(t),
    }
    const gateway = await startGateway(t, {
      upstream: backends.gateway,
      more: 'strangers: { perMinute: 100000, perDay: 1000000 }',
      upstreamMore: 'health: { unhealthyAfter: 1000000 }',
    })
    const { token } = await gateway.key({ limits: { perMinute: 100_000, perDay: 1_000_000 } })
    const urls = {
      gateway: gateway.url,
      nginx: await startNginx(t, servers.nginx ?? '', backends.nginx.port),
      haproxy: await startHaproxy(t, servers.haproxy ?? '', backends.haproxy.port),
    }
    const requests = rawRequests(`Authorization: Bearer ${token}\r\n`)
    t.ok(requests.length >= 200, `${requests.length} requests`)
    const names = new Set(requests.map(({ name }) => name))
    t.equal(names.size, requests.length, 'each by a name of its own')
    const order = ['gateway', 'nginx', 'haproxy'] as const
    const unused = new Set<unknown>([...Object.keys(laxer), ...stricter])

    for (const { name, bytes, atMost } of requests) {
      const statuses = await Promise.all(
        order.map(async (server) => {
          const answer = await raw(urls[server], Buffer.from(bytes, 'latin1'), 400).catch(() => '')
          return /^HTTP\/1\.\d (\d{3})/.exec(answer)?.[1] ?? 'none'
        }),
      )
      // An answer may be there before its backend has told of the request.
      await new Promise((go) => setTimeout(go, 10))
      const [ours, nginx, haproxy] = order.map((server, i): Outcome => {
        return { heard: backends[server].take().length, status: statuses[i] ?? '' }
      })
      if (!ours || !nginx || !haproxy) throw new Error('all three were asked')
      if (ours.heard > atMost) t.fail(`${name}: the backend heard of ${ours.heard} requests`)
      const refuses = ({ heard, status }: Outcome): boolean => heard === 0 && status !== '200'
      const told = `ours ${show(ours)}, nginx ${show(nginx)}, haproxy ${show(haproxy)}`
      if (refuses(ours)) {
        if (refuses(nginx) || refuses(haproxy)) continue
        const why = stricter.find(([names]) => names.test(name))
        if (why) unused.delete(why)
        else t.fail(`${name}: ${told}`)
      } else if (refuses(nginx) || refuses(haproxy)) {
        if (name in laxer) unused.delete(name)
        else t.fail(`${name}: ${told}`)
      }
    }
    t.strictSame([...unused], [], 'every difference in the table is one')
  },
)

function show({ heard, status }: Outcome): string {
  return `${heard === 0 ? 'refused' : `passed ${heard === 1 ? '' : `${heard} `}on`} (${status})`
}
