import cluster, { type Worker } from 'node:cluster'
import { within } from '../../shared/within.ts'
import type { Log } from '../../shared/log.ts'

/** The delay before replacing a worker that ended before it listened. */
const restartDelayMs = 1_000

/** The time limit of a worker for reporting its metrics. */
const reportMs = 1_000

/** Marks, in its environment, the worker that serves the admin address and writes what one worker writes for all. */
const leaderMark = 'TOLLGATE_LEADER'

/**
 * The messages between workers and their overseer; `number` matches an answer to its question. The words stay as they
 * are: after an upgrade, SIGUSR2 starts workers of the new version under an overseer of the old one.
 */
type Message =
  | { what: 'gather' | 'tell'; number: number }
  | { what: 'told'; number: number; told: unknown }
  | { what: 'reload' }
  | { what: 'leave'; reason: string }

/** The message by which every service tells its parent that it listens. */
type Listening = { what?: undefined; listening: string }

export type WorkerPoolOptions = Readonly<{
  size: number
  log: Log
  /** Called with their address once all workers listen. */
  listening: (url: string) => void
  /** Called with the exit code when the last worker has ended. */
  ended: (code: number) => void
}>

/**
 * Runs several gateways at one port, each in a process of its own. The overseer only watches them: it
 * replaces a worker that ends, while the others serve.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions
  /** The workers, without those that were told to end. */
  readonly #active = new Set<Worker>()
  readonly #listening = new Set<Worker>()
  readonly #answers = new Map<number, (answer: unknown) => void>()
  #leader: Worker | undefined
  #questions = 0
  /** Whether all have listened once. A pool that can't start isn't restarted for ever. */
  #isUp = false
  #isStopping = false
  #isRestarting = false
  #code = 0

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    // Workers accept connections by themselves. A connection that an overseer hands to a worker that has just
    // ended would be lost, open and without an answer.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.on('message', (worker, message: Message | Listening) =>
      this.#onMessage(worker, message),
    )
    cluster.on('exit', (worker, code: number | null, signal) => this.#onExit(worker, code, signal))
    for (let i = 0; i < options.size; i++) this.#start(i === 0)
  }

  /** Lets all workers finish their requests, and then end. */
  stop(reason: string): void {
    this.#isStopping = true
    for (const worker of this.#active) this.#dismiss(worker, reason)
  }

  /** Makes all workers read the configuration again. */
  reload(): void {
    for (const worker of this.#active) send(worker, { what: 'reload' })
  }

  /** Replaces all workers, one after the other. None ends before its successor listens. */
  async restart(): Promise<void> {
    const { log } = this.#options
    if (this.#isStopping || this.#isRestarting) {
      log.warn(
        {},
        'workers are not replaced: a replacement is running already, or they are stopping',
      )
      return
    }
    this.#isRestarting = true
    const before = [...this.#active]
    log.info({ workers: before.length }, 'replacing: new workers take the place of all, one by one')
    let replaced = 0
    for (const worker of before) if (await this.#replace(worker)) replaced++
    this.#isRestarting = false
    if (this.#isStopping) return
    if (replaced === before.length) log.info({ workers: replaced }, 'done: all workers are new')
    else log.error({ replaced, workers: before.length }, 'some new workers did not come up')
  }

  /** Replaces one worker; `false` if its successor didn't start. */
  async #replace(worker: Worker): Promise<boolean> {
    if (this.#isStopping) return false
    const next = this.#start(worker === this.#leader)
    await new Promise<void>((resolve) => {
      next.on('message', (message: Message | Listening) => {
        if (message.what === undefined) resolve()
      })
      next.once('exit', () => resolve())
    })
    const isUp = this.#listening.has(next)
    if (isUp) this.#dismiss(worker, 'another worker takes its place')
    // The successor didn't start, so the old worker stays the leader.
    else if (this.#leader === next) this.#leader = worker
    return isUp
  }

  #start(isLeader: boolean): Worker {
    const worker = cluster.fork(isLeader ? { [leaderMark]: '1' } : {})
    if (isLeader) this.#leader = worker
    this.#active.add(worker)
    return worker
  }

  /** Tells a worker the reason, and disconnects it: it then finishes its requests and ends. */
  #dismiss(worker: Worker, reason: string): void {
    this.#active.delete(worker)
    if (!worker.isConnected()) return
    send(worker, { what: 'leave', reason })
    worker.process.disconnect()
  }

  #onMessage(worker: Worker, message: Message | Listening): void {
    if (message.what === undefined) {
      this.#listening.add(worker)
      if (this.#isUp || this.#listening.size < this.#options.size) return
      this.#isUp = true
      this.#options.listening(message.listening)
    } else if (message.what === 'gather') void this.#gather(worker, message.number)
    else if (message.what === 'told') this.#answers.get(message.number)?.(message.told)
  }

  #onExit(worker: Worker, code: number | null, signal: string): void {
    const { size, log, ended } = this.#options
    const hasListened = this.#listening.delete(worker)
    this.#active.delete(worker)
    if (code !== 0) this.#code ||= code ?? 1
    if (!this.#isUp) this.stop('a worker could not begin')
    if (this.#isStopping) {
      if (Object.keys(cluster.workers ?? {}).length === 0) ended(this.#code)
      return
    }
    this.#code = 0
    if (this.#active.size >= size) return
    const about = { worker: worker.id, pid: worker.process.pid, code, signal }
    log.error(about, 'a worker has ended; another one takes its place')
    const isLeader = worker === this.#leader
    const replace = (): void => void (this.#isStopping || this.#start(isLeader))
    setTimeout(replace, hasListened ? 0 : restartDelayMs)
  }

  /** Collects the reports of all other workers for one that adds them to its own. */
  async #gather(asker: Worker, number: number): Promise<void> {
    const others = [...this.#listening].filter((worker) => worker !== asker)
    const reports = await Promise.all(others.map((worker) => this.#ask(worker)))
    const answers = reports.filter((each) => each !== undefined)
    send(asker, { what: 'told', number, told: answers })
  }

  /** The report of a worker; `undefined` if it takes too long. */
  #ask(worker: Worker): Promise<unknown> {
    const number = ++this.#questions
    return answerTo(this.#answers, number, () => send(worker, { what: 'tell', number }))
  }
}

/** A worker's link to its overseer. */
export class WorkerLink {
  readonly #worker: Worker
  readonly #answers = new Map<number, (answer: unknown) => void>()
  #questions = 0
  readonly isLeader: boolean
  /** The overseer's reason for ending this worker. */
  reason: string | undefined

  constructor(worker: Worker, environment: NodeJS.ProcessEnv) {
    this.#worker = worker
    this.isLeader = environment[leaderMark] !== undefined
    // Without this Node ends a worker at once when it loses its overseer.
    worker.exitedAfterDisconnect = true
    worker.on('message', (message: Message) => {
      if (message.what === 'told') this.#answers.get(message.number)?.(message.told)
      if (message.what === 'leave') this.reason = message.reason
    })
  }

  /** Calls `reload` when the overseer says so, and answers questions with `report`. */
  serve(reload: () => void, report: () => Promise<unknown>): void {
    this.#worker.on('message', (message: Message) => {
      if (message.what === 'reload') reload()
      if (message.what !== 'tell') return
      const { number } = message
      void report().then((answer) => send(this.#worker, { what: 'told', number, told: answer }))
    })
  }

  /** The reports of all other workers that answer in time. */
  async gather(): Promise<readonly unknown[]> {
    const number = ++this.#questions
    const ask = (): void => send(this.#worker, { what: 'gather', number })
    const reports = await answerTo(this.#answers, number, ask, 2 * reportMs)
    return Array.isArray(reports) ? (reports as unknown[]) : []
  }
}

/** Waits for the answer to a question; `undefined` if it takes too long. */
function answerTo(
  answers: Map<number, (answer: unknown) => void>,
  number: number,
  ask: () => void,
  limitMs = reportMs,
): Promise<unknown> {
  const answer = new Promise((resolve) => {
    answers.set(number, resolve)
    ask()
  })
  return within(limitMs, answer).finally(() => answers.delete(number))
}

function send(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}
