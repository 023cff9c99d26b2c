import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Breaker } from './breaker.ts'
import type { Connection } from './connect.ts'

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
  return async (count: number, names: readonly string[], args: readonly Argument[]) => {
    const askedAtMs = breaker?.check() ?? 0
    try {
      const answer = await ask(count, names, args)
      breaker?.worked()
      return answer
    } catch (error) {
      breaker?.failed(error, askedAtMs)
      throw error
    }
  }

  async function ask(
    count: number,
    names: readonly string[],
    args: readonly Argument[],
  ): Promise<unknown> {
    try {
      return await within(timeoutMs, connection.evalsha(digest, count, ...names, ...args))
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
      return within(timeoutMs, connection.eval(source, count, ...names, ...args))
    }
  }
}

/**
 * Rejects what takes too long. A process that was busy for that long finds its timers due before it
 * has read the answers that lie ready: so the answers are read first (ioredis' own time limit
 * doesn't, and called 48 of 8,000 late that were there on a machine under load).
 */
export function within(timeoutMs: number, answer: Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`Redis did not answer within ${timeoutMs} ms`))
    const timer = setTimeout(() => setImmediate(late), timeoutMs)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
