import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { load, type Outcome } from './load.ts'

/** A server in a process of its own. */
export type Server = Readonly<{
  /** A program of the build, which sends `{ listening: url }` to its parent; or a file, by its whole path. */
  program?: string
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** Some other program, and where it will listen. */
  command?: string
  url?: string
}>

/** One thing to measure: a server, and what it is asked. */
export type Contestant = Readonly<{
  name: string
  /** Several may ask one server: it is started once. */
  server: Server
  request: (n: number) => string
  /** The status of each answer; more than a few others spoil the measurement, which says so. */
  status: number
}>

export type Row = Readonly<{
  name: string
  /** Microseconds of processor time (user and system) of the server's processes, a request. */
  cpuMicros: number
  /** Least and most of the rounds. */
  cpuSpread: readonly [number, number]
  /** Beside the first row, in the same round: the median of all rounds. */
  ratio: number
  perSecond: number
  p50Ms: number
  p99Ms: number
}>

export type Settings = Readonly<{ rounds: number; seconds: number; connections: number }>

type Round = Outcome & { cpuMicros: number }

/** Requests before it counts: each of 10,000 keys has been met twice by then, and code is compiled. */
const warmUp = 25_000

/** The same where a server is warm, and is asked something else. */
const furtherWarmUp = 5_000

/** How many of a hundred answers may have another status: a window may end, and begin with room. */
const mostOthers = 0.02

/** How often all are started anew: two starts of the same program may differ by a tenth for as long as they run. */
const mostStarts = 3

/** Ticks a second in /proc; Linux has had 100 for every program since it was asked. */
const ticksPerSecond = 100

/**
 * Measures contestants in turn, round after round, forwards and backwards, so that a noisy minute hits all of
 * them alike. All of them run all the time; one at a time has something to do.
 */
export async function measure(
  contestants: readonly Contestant[],
  { rounds, seconds, connections }: Settings,
  say: (line: string) => void,
): Promise<Row[]> {
  const results = contestants.map((): Round[] => [])
  const starts = rounds < 9 ? 1 : mostStarts
  for (let start = 0; start < starts; start++) {
    const from = Math.round((rounds * start) / starts)
    const to = Math.round((rounds * (start + 1)) / starts)
    await measureOnce(from, to)
  }
  return contestants.map(({ name }, i) => summary(name, results[i] ?? [], results[0] ?? []))

  async function measureOnce(from: number, to: number): Promise<void> {
    const servers = new Map<Server, Started>()
    try {
      for (const { server, name, request } of contestants) {
        say(name)
        const atLeast = servers.has(server) ? furtherWarmUp : warmUp
        const running = servers.get(server) ?? (await started(server))
        servers.set(server, running)
        await load({ url: running.url, connections, seconds: 0.2, atLeast, request })
      }
      const order = [...contestants.entries()]
      for (let round = from; round < to; round++) {
        say(`round ${round + 1} of ${rounds}`)
        for (const [index, contestant] of round % 2 ? order.toReversed() : order) {
          const running = servers.get(contestant.server)
          if (!running) throw new Error(`${contestant.name} does not run`)
          results[index]?.push(await runOnce(contestant, running, seconds, connections))
        }
      }
    } finally {
      for (const { end } of servers.values()) await end()
    }
  }
}

async function runOnce(
  { name, request, status }: Contestant,
  { url, pid }: Started,
  seconds: number,
  connections: number,
): Promise<Round> {
  const before = cpuSeconds(pid)
  const outcome = await load({ url, connections, seconds, request })
  const cpu = cpuSeconds(pid) - before
  const { [status]: asExpected = 0, ...others } = outcome.statuses
  if (asExpected < outcome.requests * (1 - mostOthers)) {
    throw new Error(`${name} answered ${JSON.stringify(others)}, not ${status}`)
  }
  return { ...outcome, cpuMicros: (cpu / outcome.requests) * 1e6 }
}

export type Started = Readonly<{ url: string; pid: number | undefined; end: () => Promise<void> }>

/** Starts a server; `end` ends it at once. */
export async function started({
  program = '',
  args = [],
  env = {},
  command,
  url,
}: Server): Promise<Started> {
  const file = program.startsWith('/')
    ? program
    : fileURLToPath(new URL(`../../${program}`, import.meta.url))
  const server = spawn(command ?? process.execPath, [...(command ? [] : [file]), ...args], {
    env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', ...env },
    stdio: command ? 'ignore' : ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const end = async (): Promise<void> => {
    server.kill('SIGKILL')
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
  }
  return { url: url ? await isUp(url) : await listeningOf(server, program), pid: server.pid, end }
}

async function listeningOf(server: ChildProcess, program: string): Promise<string> {
  const ended = once(server, 'exit').then(() => {
    throw new Error(`${program} ended before it listened`)
  })
  const [{ listening }] = (await Promise.race([once(server, 'message'), ended])) as [
    { listening: string },
  ]
  ended.catch(() => undefined)
  return listening
}

/** Waits until something listens. */
async function isUp(url: string): Promise<string> {
  const { hostname, port } = new URL(url)
  for (let i = 0; i < 100; i++) {
    const socket = connect(Number(port), hostname)
    const isThere = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (isThere) return url
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`nothing listens at ${url}`)
}

/** Processor time of a process and of those that it has started, as the operating system counts it. */
export function cpuSeconds(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const own = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  if (children === '') return own
  return children.split(' ').reduce((sum, child) => sum + cpuSeconds(Number(child)), own)
}

/** The memory that a process has, in MB. */
export function memoryOf(pid: number | undefined): number {
  const [, size] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(size) / 1_024
}

function summary(name: string, rounds: readonly Round[], reference: readonly Round[]): Row {
  const cpu = rounds.map(({ cpuMicros }) => cpuMicros)
  return {
    name,
    cpuMicros: median(cpu),
    cpuSpread: [Math.min(...cpu), Math.max(...cpu)],
    ratio: median(cpu.map((micros, i) => micros / (reference[i]?.cpuMicros ?? NaN))),
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    p50Ms: median(rounds.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(rounds.map(({ p99Ms }) => p99Ms)),
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2
    ? (sorted[middle] ?? NaN)
    : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2
}

/** The rows as a table for a terminal; ratios are to the first row. */
export function table(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    row.name,
    `${row.cpuMicros.toFixed(1)} (${row.cpuSpread.map((value) => value.toFixed(1)).join('–')})`,
    row.ratio.toFixed(2),
    row.perSecond.toFixed(0),
    row.p50Ms.toFixed(2),
    row.p99Ms.toFixed(2),
  ])
  const heads = ['', 'CPU µs a request', 'ratio', 'requests/s', 'p50 ms', 'p99 ms']
  const widths = heads.map((head, i) =>
    Math.max(head.length, ...cells.map((row) => row[i]?.length ?? 0)),
  )
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
  return [heads, ...cells].map(line).join('\n')
}
