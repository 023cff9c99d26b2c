import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Breaker } from './breaker.ts'
import type { Connection } from './connect.ts'
import { Patience } from './patience.ts'

type Argument = string | number

/** A Lua script of this folder, run as one atomic step on the names that it is bound to. */
export type Script = (...args: readonly Argument[]) => Promise<unknown>

/** The same on names that each call gives. */
export type KeyedScript = (
  names: string | readonly string[],
  ...args: readonly Argument[]
) => Promise<unknown>

export type ScriptOptions = Readonly<{
  connection: Connection
  timeoutMs: number
  /** Says when asking is no use; without one, everything is asked. */
  breaker?: Breaker | undefined
  file: string
}>

/** Binds a script to the names that it works on, which must share one slot of a Cluster. */
export function script(options: ScriptOptions, names: readonly string[]): Script {
  const run = runner(options)
  return (...args) => run(names.length, names, args)
}

export function keyedScript(options: ScriptOptions): KeyedScript {
  const run = runner(options)
  return (names, ...args) =>
    typeof names === 'string' ? run(1, [names], args) : run(names.length, names, args)
}

/**
 * A script is sent by its digest; a server that doesn't know it, after a restart, a fail-over or a
 * flush, gets it whole.
 */
function runner({ connection, timeoutMs, breaker, file }: ScriptOptions) {
  const source = readFileSync(new URL(file, import.meta.url), 'utf8')
  const digest = hash('sha1', source)
  const patience = new Patience(timeoutMs)
  return (count: number, names: readonly string[], args: readonly Argument[]) =>
    within(
      patience,
      (answered, failed, isOver) => {
        const sendWhole = (error: Error): void => {
          // What was given up must not be done after all: it may be settled otherwise by now.
          if (isOver() || !error.message.startsWith('NOSCRIPT')) return failed(error)
          connection.eval(source, count, ...names, ...args).then(answered, failed)
        }
        connection.evalsha(digest, count, ...names, ...args).then(answered, sendWhole)
      },
      breaker,
    )
}

type Send = (
  answered: (answer: unknown) => void,
  failed: (error: Error) => void,
  isOver: () => boolean,
) => void

/**
 * Asks, and gives up what takes too long (ioredis' own time limit takes answers that lie ready for late:
 * 48 of 8,000 on a machine under load).
 *
 * Every decision comes through here: one promise for all of it costs 5 % less than one a step.
 */
export function within(patience: Patience, send: Send, breaker?: Breaker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const askedAtMs = breaker?.check() ?? performance.now()
    const answered = (answer: unknown): void => {
      if (wait.isOver) return
      wait.isOver = true
      breaker?.worked()
      resolve(answer)
    }
    const failed = (error: Error): void => {
      if (wait.isOver) return
      wait.isOver = true
      breaker?.failed(error, askedAtMs)
      reject(error)
    }
    const late = (): void =>
      failed(new Error(`Redis did not answer within ${patience.timeoutMs} ms`))
    const wait = { isOver: false, late }
    patience.add(wait, askedAtMs)
    send(answered, failed, () => wait.isOver)
  })
}
