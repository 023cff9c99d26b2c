import { EventEmitter } from 'node:events'
import type { Test } from 'tap'
import { settingsFrom } from '../../gateway/process-settings.ts'
import { serveGateway, type Serving, type Signals } from '../../gateway/serving.ts'
import type { Running } from './process.ts'

/** A gateway as its process serves it, in this one: that takes a thirtieth of the processor time. */
export function serveHere(t: Test, environment: Readonly<Record<string, string>>): Running {
  let output = ''
  const events = new EventEmitter()
  const signals: Signals = { reload: () => undefined, replace: () => undefined }
  events.on('SIGHUP', () => signals.reload()).on('SIGUSR2', () => signals.replace())
  let told: (listening: string) => void = () => undefined
  let exited: (code: number) => void = () => undefined
  const serving = (async (): Promise<Serving> => {
    const settings = settingsFrom(environment, { write: (text) => (output += text) })
    return serveGateway(settings, signals, {
      on: (event, listener) => events.on(event, listener),
      off: (event, listener) => events.off(event, listener),
      connected: true,
      send: (message) => told((message as { listening: string }).listening),
      exit: (code) => exited(code),
    })
  })()
  const url = new Promise<string>((resolve, reject) => {
    told = resolve
    serving.catch(reject)
  })
  url.catch(() => undefined)
  const ended = new Promise<number>((resolve) => (exited = resolve)).then(async (code) => {
    await (await serving).admin?.close()
    return { code, signal: null }
  })
  t.teardown(async () => {
    const opened = await serving.catch(() => undefined)
    opened?.stop()
    await opened?.admin?.close()
    await opened?.gateway.close()
  })
  return {
    url,
    ended,
    output: () => output,
    signal: (name) => void events.emit(name),
  }
}
