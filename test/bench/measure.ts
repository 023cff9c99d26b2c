import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { load, type Outcome } from './load.ts'

/** One thing to measure: a server in a process of its own, and what it is asked. */
export type Contestant = Readonly<{
  name: string
  /** A program of the build, and its arguments. It sends `{ listening: url }` to its parent. */
  program: string
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
  request: (n: number) => string
  /** The status of each answer; any other spoils the measurement, which says so. */
  status: number
}>

export type Row = Readonly<{
  name: string
  /** Microseconds of processor time (user and system) of the server's process, a request. */
  cpuMicros: number
  /** Least and most of the rounds. */
  cpuSpread: readonly [number, number]
  perSecond: number
  p50Ms: number
  p99Ms: number
}>

type Round = Outcome & { cpuMicros: number }

/** Requests before it counts: each of 10,000 keys has been met twice by then, and code is compiled. */
const warmUp = 25_000

/** Ticks a second in /proc; Linux has had 100 for every program since it was asked. */
const ticksPerSecond = 100

/** Measures contestants in turn, round after round, so that a noisy minute hits all of them alike. */
export async function measure(
  contestants: readonly Contestant[],
  { rounds, seconds, connections }: { rounds: number; seconds: number; connections: number },
  say: (line: string) => void,
): Promise<Row[]> {
  const results = contestants.map((): Round[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, contestant] of contestants.entries()) {
      say(`round ${round + 1} of ${rounds}: ${contestant.name}`)
      results[index]?.push(await runOnce(contestant, seconds, connections))
    }
  }
  return contestants.map(({ name }, index) => summary(name, results[index] ?? []))
}

async function runOnce(
  contestant: Contestant,
  seconds: number,
  connections: number,
): Promise<Round> {
  const { request, status, name } = contestant
  const { url, pid, end } = await started(contestant)
  try {
    await load({ url, connections, seconds: Math.min(1, seconds / 2), atLeast: warmUp, request })
    const before = cpuSeconds(pid)
    const outcome = await load({ url, connections, seconds, request })
    const cpu = cpuSeconds(pid) - before
    const others = Object.keys(outcome.statuses).filter((seen) => Number(seen) !== status)
    if (others.length > 0) throw new Error(`${name} answered ${others.join(', ')}, not ${status}`)
    return { ...outcome, cpuMicros: (cpu / outcome.requests) * 1e6 }
  } finally {
    await end()
  }
}

/** Starts a program of the build that tells where it listens; `end` ends it at once. */
export async function started({
  program,
  args = [],
  env = {},
}: Pick<Contestant, 'program' | 'args' | 'env'>): Promise<{
  url: string
  pid: number | undefined
  end: () => Promise<void>
}> {
  const file = fileURLToPath(new URL(`../../${program}`, import.meta.url))
  const server = spawn(process.execPath, [file, ...args], {
    env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const end = async (): Promise<void> => {
    server.kill('SIGKILL')
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
  }
  const [{ listening }] = (await once(server, 'message')) as [{ listening: string }]
  return { url: listening, pid: server.pid, end }
}

/** Processor time of a process so far, as the operating system counts it. */
export function cpuSeconds(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

function summary(name: string, rounds: readonly Round[]): Row {
  const cpu = rounds.map(({ cpuMicros }) => cpuMicros)
  return {
    name,
    cpuMicros: median(cpu),
    cpuSpread: [Math.min(...cpu), Math.max(...cpu)],
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
  const reference = rows[0]?.cpuMicros ?? NaN
  const cells = rows.map((row) => [
    row.name,
    `${row.cpuMicros.toFixed(1)} (${row.cpuSpread.map((value) => value.toFixed(1)).join('–')})`,
    (row.cpuMicros / reference).toFixed(2),
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
