import { once } from 'node:events'
import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { startForCaller } from '../support/first-caller.ts'
import { startProcess } from '../support/process.ts'
import { socketPathFor } from '../support/unix-socket.ts'
import { until } from '../support/until.ts'

const secret = 'shared-by-both-services'

/** Starts an animal store that listens at the path of a socket. */
function startAt(t: Test, path: string, { listen = `unix:${path}`, umask = '022' } = {}) {
  const env = { LISTEN: listen, DATABASE: join(dirname(path), 'a.db'), GATEWAY_SECRET: secret }
  return startProcess(t, 'backend/main.ts', { env, shell: `umask ${umask}` })
}

/** The status of a health check at a socket. */
function healthAt(socketPath: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path: '/healthz' }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
      .once('error', reject)
      .end()
  })
}

t.test(
  'the animal store serves a gateway at a Unix socket, and removes it at a stop',
  async (t) => {
    const path = socketPathFor(t)
    const store = startAt(t, path)
    t.equal(await store.url, `unix:${path}`)
    const { call, headers, get } = await startForCaller(t, {
      targets: `[ "unix:${path}" ]`,
      secret,
      upstreamMore: 'health: { path: /healthz }',
    })
    const rex = { name: 'Rex', categoryId: 1 }
    const made = await call('POST', '/v1/pets', rex, headers)
    t.match(made, { status: 201, headers: { location: '/v1/pets/1' } })
    t.match(await get('/v1/pets/1'), { status: 200, text: /"Rex"/ })
    store.child.kill('SIGTERM')
    t.match(await store.ended, { code: 0 })
    t.notOk(existsSync(path))
  },
)

t.test('its owner and group may use the socket, whatever the umask', async (t) => {
  const modes = ['000', '022', '077'].map(async (umask) => {
    const path = socketPathFor(t)
    await startAt(t, path, { umask }).url
    return (lstatSync(path).mode & 0o777).toString(8)
  })
  t.strictSame(await Promise.all(modes), ['660', '660', '660'])
})

t.test('a socket that a killed process has left behind is taken over', async (t) => {
  const path = socketPathFor(t)
  const killed = startAt(t, path)
  await killed.url
  killed.child.kill('SIGKILL')
  await killed.ended
  t.ok(existsSync(path))
  await startAt(t, path).url
  t.equal(await healthAt(path), 200)
})

t.test(
  'a file in use, or of another kind, stays, and the start ends with a sentence',
  async (t) => {
    const path = socketPathFor(t)
    await startAt(t, path).url
    const second = startAt(t, path)
    t.match(await second.ended, { code: 2 })
    t.equal(
      second.output(),
      `backend: LISTEN: ${path} is in use. Does the animal store run already? Stop the other one, or name another path.\n`,
    )
    t.equal(await healthAt(path), 200, 'the first one goes on')
    const file = join(dirname(path), 'notes.txt')
    writeFileSync(file, 'mine')
    const third = startAt(t, file)
    t.match(await third.ended, { code: 2 })
    t.equal(
      third.output(),
      `backend: LISTEN: ${file} is there, and isn't a socket. Name another path.\n`,
    )
    t.equal(readFileSync(file, 'utf8'), 'mine')
    const wrong = ['unix:animals.sock', '/run/a.sock', `unix:/${'x'.repeat(107)}`]
    const ends = wrong.map(async (listen) => {
      const { ended, output } = startAt(t, path, { listen })
      return [(await ended).code, output()]
    })
    t.strictSame(
      await Promise.all(ends),
      wrong.map((listen) => [
        2,
        `backend: LISTEN must be unix:/path of at most 107 bytes, got "${listen}"\n`,
      ]),
    )
  },
)

t.test('a request in flight is answered after the socket is gone', async (t) => {
  const path = socketPathFor(t)
  const store = startAt(t, path)
  await store.url
  const socket = connect(path)
  let received = ''
  socket.setEncoding('utf8').on('data', (text: string) => (received += text))
  const hungUp = new Promise((resolve) => socket.once('close', resolve))
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n')
  await once(socket, 'ready')
  store.child.kill('SIGTERM')
  await until(() => !existsSync(path))
  socket.write('\r\n')
  await hungUp
  t.match(received, /^HTTP\/1\.1 200/)
  t.match(await store.ended, { code: 0 })
})
