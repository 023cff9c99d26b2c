import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Clock } from '../../../../shared/clock.ts'
import { briefWindows, steadyWindows, windows, type Window } from '../../../../shared/windows.ts'
import { inADay } from '../../limits/counters-text.ts'
import type { Breaker } from '../breaker.ts'
import { StoreUnavailable } from '../../../../shared/store-errors.ts'
import { unavailable } from './answer.ts'
import type { Connection } from './connect.ts'
import { AnswerTimeouts } from './answer-timeouts.ts'

/** The position of the first mark in a table of counters: behind what stands before it in their text. */
const firstMark = 6

/**
 * The list of windows for scripts: in its order, the steady and the brief ones, and by name; and the patterns of texts of
 * counters, without and with the marks of brief windows, and of a question.
 */
const windowsInLua = `local windowNamed = {
${windows.map((window) => `  ${window.name} = ${tableOf(window)},`).join('\n')}
}
local windows, steady, brief = ${[windows, steadyWindows, briefWindows].map(listOf).join(', ')}
local fields = '${patternOf(steadyWindows)}'
local briefFields = '${patternOf([...steadyWindows, ...briefWindows])}'
local asked = '^([^,]+)${windows.map(() => ',([^,]+)').join('')},(%d),([^;]*);([^;]*);(%d+);([^;]*);([^;]*);(.*)$'
`

export type Argument = string | number | Buffer

/** A Lua script of this folder, run as one atomic step on the names that it is bound to. */
export type Script = (...args: readonly Argument[]) => Promise<unknown>

/** A script on names that each call passes. */
export type KeyedScript = (
  names: string | readonly string[],
  ...args: readonly Argument[]
) => Promise<unknown>

/** The parts that every store in Redis is made of. */
export type RedisOptions = Readonly<{
  connection: Connection
  /** The prefix of all names. */
  prefix: string
  timeoutMs: number
  /** Ends waiting during an outage; without one, each call asks Redis. */
  breaker?: Breaker | undefined
  /** For tests. Without it Redis' own clock counts. */
  testClock?: Clock | undefined
}>

export type ScriptOptions = Omit<RedisOptions, 'prefix'> &
  Readonly<{
    file: string
    /** Whether it answers with buffers in place of texts. */
    inBytes?: boolean
  }>

/** Binds a script to its names, which must share one slot of a Cluster. */
export function script(options: ScriptOptions, names: readonly string[]): Script {
  const run = keyedScript(options)
  return (...args) => run(names, ...args)
}

/**
 * Sends a script by its digest. A server that doesn't know it, after a restart, a fail-over or a flush,
 * gets the whole text.
 */
export function keyedScript(options: ScriptOptions): KeyedScript {
  const { connection, timeoutMs, breaker, file, inBytes = false } = options
  const source = sourceOf(file)
  const digest = hash('sha1', source)
  const timeouts = new AnswerTimeouts(timeoutMs)
  return (named, ...args) => {
    const names = typeof named === 'string' ? [named] : named
    return within(
      timeouts,
      (answered, failed, isOver) => {
        const send = (command: 'eval' | 'evalsha', script: string): Promise<unknown> =>
          inBytes
            ? connection.callBuffer(command, script, names.length, ...names, ...args)
            : connection[command](script, names.length, ...names, ...args)
        const sendWhole = (error: Error): void => {
          // After the time limit the caller has decided by itself: the script must not run any more.
          if (isOver() || !error.message.startsWith('NOSCRIPT')) return failed(error)
          send('eval', source).then(answered, failed)
        }
        send('evalsha', digest).then(answered, sendWhole)
      },
      breaker,
    )
  }
}

/** The script that limits requests under way, too, and takes what was bought: what it alone needs costs no other a byte. */
const withMore = 'quota-more.lua'

/**
 * The text of a script, in which lines such as `--include counters.lua` stand for other texts, and lines behind `--with-more`
 * for themselves in the script that has more to decide, and else for nothing.
 */
function sourceOf(file: string, script = file): string {
  if (file === 'windows') return windowsInLua
  const text = readFileSync(new URL(file, import.meta.url), 'utf8')
  return text
    .replace(/^ *--with-more (.*\n)/gm, (_, line: string) => (script === withMore ? line : ''))
    .replace(/^ *--include (.*)$/gm, (_, name: string) => sourceOf(name, script))
}

function tableOf(window: Window): string {
  const { name, lengthMs = 0, firstMs, unitMs, comesBack, strikes, at } = window
  const begins = `lengthMs = ${lengthMs}, firstMs = ${firstMs}, unitMs = ${unitMs}`
  const numbers = `${begins}, inADay = ${inADay(window)}, at = ${firstMark + at}`
  return `{ name = '${name}', ${numbers}, comesBack = ${comesBack}, strikes = ${strikes} }`
}

function listOf(some: readonly Window[]): string {
  return `{ ${some.map(({ name }) => `windowNamed.${name}`).join(', ')} }`
}

function patternOf(some: readonly Window[]): string {
  const marks = some.map(() => ',(%-?%d+),(%-?%d+),(%d+)')
  return `^(%d+)(),(%d+),(%d+),(%d+)${marks.join('')}()(,?k?)$`
}

type Timeouts = Pick<AnswerTimeouts, 'timeoutMs' | 'add'>
type Send = (
  answered: (answer: unknown) => void,
  failed: (error: Error) => void,
  isOver: () => boolean,
) => void

/**
 * Asks, and gives up after the time limit. ioredis' own limit takes answers for late that only wait to be
 * read: 48 of 8,000 on a machine under load.
 *
 * Every decision comes through here: one promise in all costs 5 % less than one for each step.
 */
export function within(timeouts: Timeouts, send: Send, breaker?: Breaker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const askedAtMs = breaker?.check() ?? performance.now()
    let answerLate: ((answer: unknown) => void) | undefined
    const answered = (answer: unknown): void => {
      if (wait.isOver) return answerLate?.(answer)
      wait.isOver = true
      breaker?.worked()
      resolve(answer)
    }
    const failed = (error: Error): void => {
      if (wait.isOver) return
      wait.isOver = true
      const reason = unavailable(error)
      if (reason instanceof StoreUnavailable) breaker?.failed(reason, askedAtMs)
      reject(reason)
    }
    const late = (): void => {
      const error = new StoreUnavailable(`Redis did not answer within ${timeouts.timeoutMs} ms`)
      error.late = new Promise((resolve) => (answerLate = resolve))
      failed(error)
    }
    const wait = { isOver: false, late }
    timeouts.add(wait, askedAtMs)
    send(answered, failed, () => wait.isOver)
  })
}
