import { spawn, type ChildProcess } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { until } from './until.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Where Node writes what code a process has run, for `npm run coverage`, and where it keeps the code of earlier processes, so
 * that a new one starts in half the time.
 */
const { PATH = '', NODE_V8_COVERAGE = '', NODE_COMPILE_CACHE = '' } = process.env
const isMeasured = NODE_V8_COVERAGE !== ''

/** The environment of a program of this project, without all that it doesn't need. */
export const bareEnvironment: Readonly<Record<string, string>> = {
  PATH,
  // Code that was kept from an earlier process can't be counted.
  ...(isMeasured ? { NODE_V8_COVERAGE } : NODE_COMPILE_CACHE === '' ? {} : { NODE_COMPILE_CACHE }),
}

/** A service that runs, in a process of its own or in the test's. */
export type Running = Readonly<{
  /** Where it listens; rejects if it ends before it does. */
  url: Promise<string>
  ended: Promise<{ code: number | null; signal: string | null }>
  /** Standard output and error so far. */
  output: () => string
  signal: (name: NodeJS.Signals) => void
}>

export type Service = Running &
  Readonly<{
    child: ChildProcess
    /** Standard output alone. */
    stdout: () => string
  }>

export type ProcessOptions = Readonly<{
  env?: Record<string, string>
  args?: string[]
  cwd?: string
  /** What the shell that becomes it does before. */
  shell?: string
  /** A file of this project that it loads first. */
  preload?: string | undefined
}>

/** Runs a program of this project. */
export function startProcess(t: Test, file: string, options: ProcessOptions = {}): Service {
  const { env = {}, args = [], cwd, shell = ':', preload } = options
  const imported = preload === undefined ? [] : ['--import', join(root, preload)]
  const program = [process.execPath, ...imported, join(root, file), ...args]
  let output = ''
  let stdout = ''
  const child = spawn('/bin/sh', ['-c', `${shell}; exec "$@"`, 'sh', ...program], {
    env: { ...bareEnvironment, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    ...(cwd ? { cwd } : {}),
  })
  child.stdout?.on('data', (text: Buffer) => {
    output += text.toString()
    stdout += text.toString()
  })
  child.stderr?.on('data', (text: Buffer) => (output += text.toString()))
  // Not the event `close`: it never comes once a test has disconnected.
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const ended = exited.then(async (exit) => {
    for (const stream of [child.stdout, child.stderr]) if (stream) await finished(stream)
    return exit
  })
  const url = new Promise<string>((resolve, reject) => {
    child.once('message', (message: { listening: string }) => resolve(message.listening))
    void ended.then(() => reject(new Error(`${file} ended before it listened: ${output}`)))
  })
  url.catch(() => undefined)
  t.teardown(async () => {
    // One that is killed would not write down what it has run.
    child.kill(isMeasured ? 'SIGTERM' : 'SIGKILL')
    const killing = setTimeout(() => child.kill('SIGKILL'), 5_000)
    await ended
    clearTimeout(killing)
  })
  const signal = (name: NodeJS.Signals): void => void child.kill(name)
  return { child, url, ended, signal, output: () => output, stdout: () => stdout }
}

/** Where the admin address of a gateway listens, as its log tells at the level info. */
export async function adminOf({ output }: Pick<Running, 'output'>): Promise<string> {
  const told = () => /"admin","msg":"Server listening at ([^"]+)"/.exec(output())?.[1]
  await until(() => told() !== undefined)
  return told() ?? ''
}

/** The modes of a folder and of the files in it, in octal digits. */
export function modesIn(folder: string): Record<string, string> {
  const modeOf = (name: string) => (statSync(join(folder, name)).mode & 0o777).toString(8)
  return Object.fromEntries(['.', ...readdirSync(folder)].map((name) => [name, modeOf(name)]))
}
