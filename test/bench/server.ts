import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Observation } from './probe.ts'
import type { Spent } from './profiler.ts'

/** A server in a process of its own. */
export type Server = Readonly<{
  /** A program of the build, which sends `{ listening: url }` to its parent; or a file, by its whole path. */
  program?: string
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** Has `probe.ts` in its process. */
  isProbed?: boolean
  /** Has `profiler.ts` in its process. */
  isProfiled?: boolean
  /** Some other program. */
  command?: string
  /** Where that will listen; of one that tells it, another address at which it is asked. */
  url?: string
}>

export type Started = Readonly<{
  url: string
  pid: number | undefined
  /** Does something, and gives its result with what the probe has observed meanwhile. */
  observe: <T>(act: () => Promise<T>) => Promise<[T, Observation]>
  /** Does something, and gives its result with where the time of its loop went meanwhile. */
  profile: <T>(act: () => Promise<T>) => Promise<[T, readonly Spent[]]>
  end: () => Promise<void>
}>

const [probe, profiler] = ['probe.ts', 'profiler.ts'].map((file) =>
  fileURLToPath(new URL(file, import.meta.url)),
) as [string, string]

/** Starts a server; `end` ends it at once. */
export async function started(about: Server): Promise<Started> {
  const {
    program = '',
    args = [],
    env = {},
    isProbed = false,
    isProfiled = false,
    command,
    url,
  } = about
  const file = program.startsWith('/')
    ? program
    : fileURLToPath(new URL(`../../${program}`, import.meta.url))
  const imported = [...(isProbed ? [probe] : []), ...(isProfiled ? [profiler] : [])]
  const own = [...imported.flatMap((each) => ['--import', each]), file]
  const server = spawn(command ?? process.execPath, [...(command ? [] : own), ...args], {
    env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', ...env },
    stdio: command ? 'ignore' : ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const end = async (): Promise<void> => {
    server.kill('SIGKILL')
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
  }
  const ask = async <Answer>(question: string): Promise<Answer> => {
    const answer = once(server, 'message')
    server.send(question)
    const [told] = (await answer) as [Answer]
    return told
  }
  const observed = async (): Promise<Observation> => {
    return (await ask<{ observed: Observation }>('observe')).observed
  }
  const profile = async <T>(act: () => Promise<T>): Promise<[T, readonly Spent[]]> => {
    await ask('profile')
    const result = await act()
    return [result, (await ask<{ spent: readonly Spent[] }>('profiled')).spent]
  }
  const observe = async <T>(act: () => Promise<T>): Promise<[T, Observation]> => {
    await observed()
    return [await act(), await observed()]
  }
  const listensAt = command ? await isUp(url ?? '') : await listeningOf(server, program)
  return { url: url ?? listensAt, pid: server.pid, observe, profile, end }
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

/**
 * CPU time of a process and of those that it has started, as the scheduler counts it: to the
 * nanosecond, where /proc/PID/stat has ticks of 10 ms.
 */
export function cpuSeconds(pid: number | undefined): number {
  const tasks = readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}`)
  const seconds = tasks.map((task) => {
    const [nanoseconds] = readFileSync(`${task}/schedstat`, 'utf8').split(' ')
    const children = readFileSync(`${task}/children`, 'utf8').split(' ').map(Number)
    const ofChildren = children.filter(Boolean).map(cpuSeconds)
    return Number(nanoseconds) / 1e9 + sum(ofChildren)
  })
  return sum(seconds)
}

/** The memory that a process has, in MB. */
export function memoryOf(pid: number | undefined): number {
  const [, size] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(size) / 1_024
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}
