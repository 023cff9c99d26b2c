import { EventEmitter } from 'node:events'
import { Agent, createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { standardLog } from '../../shared/log.ts'
import { serve, type Lifecycle } from '../../shared/serve.ts'

t.test(
  'a request that is under way when a stop begins is the last of its connection',
  async (t) => {
    let answer: (() => void) | undefined
    const server = createServer((_request, response) => {
      answer = () => void response.end('ok')
    })
    const app = {
      server,
      log: { info: () => undefined, warn: () => undefined, error: () => void t.fail() },
      listen: ({ host, port }: { host: string; port: number }) =>
        new Promise<string>((resolve) => server.listen(port, host, () => resolve(''))),
      close: () => Promise.resolve(),
    }
    const signals = new EventEmitter()
    const ended = new Promise<number>((exit) => {
      const lifecycle = Object.assign(signals, { exit }) as unknown as Lifecycle
      const times = () => ({ drainMs: 60_000, shutdownMs: 60_000 })
      void serve(app, lifecycle, { host: '127.0.0.1', port: 0, times })
    })
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const agent = new Agent({ keepAlive: true })
    const asked = new Promise<IncomingMessage>((resolve) => {
      get({ host: '127.0.0.1', port, agent }, resolve)
    })
    await new Promise((resolve) => server.once('request', resolve))
    signals.emit('SIGTERM')
    while (server.listening) await new Promise((resolve) => setImmediate(resolve))
    answer?.()
    const { headers, statusCode } = await asked
    t.match({ statusCode, headers }, { statusCode: 200, headers: { connection: 'close' } })
    t.equal(await ended, 0, 'and the stop waits for nothing more')
  },
)

t.test('a parent is told of a service behind what its log has said of the start', async (t) => {
  const order: string[] = []
  const write = (text: string) => order.push(text)
  const log = standardLog({ stdout: { write }, on: () => undefined })
  const server = createServer()
  const app = {
    server,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    listen: () => {
      log.write('listens')
      return Promise.resolve('http://x')
    },
    close: () => Promise.resolve(),
  }
  const told = new Promise<void>((resolve) => {
    const send = (message: unknown) => resolve(void order.push(JSON.stringify(message)))
    const signals = Object.assign(new EventEmitter(), {
      connected: true,
      exit: () => t.fail(),
      send,
    })
    void serve(app, signals, { host: 'x', port: 0 })
  })
  await told
  t.strictSame(order, ['listens', '{"listening":"http://x"}'])
})
