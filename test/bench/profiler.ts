import { Session } from 'node:inspector/promises'

// Brought into a measured process by --import: tells its parent where the time of its loop goes.

/** The time that was spent in one function itself, in microseconds. */
export type Spent = readonly [file: string, name: string, micros: number]

const sampleMicros = 400

const session = new Session()
session.connect()

process.on('message', (question) => {
  if (question === 'profile') void begin()
  if (question === 'profiled') void end()
})

async function begin(): Promise<void> {
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: sampleMicros })
  await session.post('Profiler.start')
  process.send?.({ spent: [] })
}

async function end(): Promise<void> {
  const { profile } = await session.post('Profiler.stop')
  const { nodes, samples = [], timeDeltas = [] } = profile
  const micros = new Map<number, number>()
  samples.forEach((id, i) => micros.set(id, (micros.get(id) ?? 0) + (timeDeltas[i] ?? 0)))
  const spent = nodes.map(({ id, callFrame: { url, functionName } }): Spent => {
    return [url, functionName, micros.get(id) ?? 0]
  })
  process.send?.({ spent })
}
