import cluster, { type Worker } from 'node:cluster'
import type { Log } from './core.ts'

/** How long to wait before another worker takes the place of one that ended before it listened. */
const patienceMs = 1_000

/** How long a worker may take to tell its numbers. */
const tellMs = 1_000

/** In the environment of the worker that also listens for operators, and writes down what is written once for all. */
const leaderMark = 'TOLLGATE_LEADER'

/** What workers and their overseer tell each other; the number says which question an answer is to. */
type Message =
  | { what: 'gather' | 'tell'; number: number }
  | { what: 'told'; number: number; told: unknown }
  | { what: 'reload' }
  | { what: 'leave'; reason: string }

/** What every service tells its parent when it is there. */
type Listening = { what?: undefined; listening: string }

export type CrewOptions = Readonly<{
  size: number
  log: Log
  /** Told where they listen, once all of them do. */
  listening: (url: string) => void
  /** Told when the last one has ended: with 0 if nothing went wrong. */
  ended: (code: number) => void
}>

/**
 * Several gateways at one port, each in a process of its own, seen to by one that does nothing else: a
 * worker that ends is replaced, and meanwhile the others serve.
 */
export class Crew {
  readonly #options: CrewOptions
  /** Who is to be there; who has been told to end is not. */
  readonly #onDuty = new Set<Worker>()
  readonly #listening = new Set<Worker>()
  readonly #answers = new Map<number, (told: unknown) => void>()
  #leader: Worker | undefined
  #questions = 0
  /** Whether all have listened once; a crew that can't even begin is not tried again and again. */
  #isUp = false
  #isStopping = false
  #isRestarting = false
  #code = 0

  constructor(options: CrewOptions) {
    this.#options = options
    // Workers take connections from the port by themselves. Those that an overseer hands out would be lost,
    // open and without an answer, if they were handed to a worker that has just ended.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.on('message', (worker, message: Message | Listening) => this.#hear(worker, message))
    cluster.on('exit', (worker, code: number | null, signal) => this.#miss(worker, code, signal))
    for (let i = 0; i < options.size; i++) this.#start(i === 0)
  }

  /** Lets all finish what they do, and then end. */
  stop(reason: string): void {
    this.#isStopping = true
    for (const worker of this.#onDuty) this.#dismiss(worker, reason)
  }

  /** Has all of them read the configuration again. */
  reload(): void {
    for (const worker of this.#onDuty) send(worker, { what: 'reload' })
  }

  /** Puts new workers in the place of all, one after the other; none ends before its successor listens. */
  async restart(): Promise<void> {
    const { log } = this.#options
    if (this.#isStopping || this.#isRestarting) {
      log.warn({}, 'workers are not replaced: that is being done, or all of them stop')
      return
    }
    this.#isRestarting = true
    const before = [...this.#onDuty]
    log.info({ workers: before.length }, 'replacing: new workers take the place of all, one by one')
    let replaced = 0
    for (const worker of before) if (await this.#replace(worker)) replaced++
    this.#isRestarting = false
    if (this.#isStopping) return
    if (replaced === before.length) log.info({ workers: replaced }, 'done: all workers are new')
    else log.error({ replaced, workers: before.length }, 'some new workers did not come up')
  }

  /** Whether another worker has taken the place of one. */
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
    // Who could not take over leaves everything with the one before.
    else if (this.#leader === next) this.#leader = worker
    return isUp
  }

  #start(isLeader: boolean): Worker {
    const worker = cluster.fork(isLeader ? { [leaderMark]: '1' } : {})
    if (isLeader) this.#leader = worker
    this.#onDuty.add(worker)
    return worker
  }

  /** A worker that loses its overseer finishes what it does; it is told why before. */
  #dismiss(worker: Worker, reason: string): void {
    this.#onDuty.delete(worker)
    if (!worker.isConnected()) return
    send(worker, { what: 'leave', reason })
    worker.process.disconnect()
  }

  #hear(worker: Worker, message: Message | Listening): void {
    if (message.what === undefined) {
      this.#listening.add(worker)
      if (this.#isUp || this.#listening.size < this.#options.size) return
      this.#isUp = true
      this.#options.listening(message.listening)
    } else if (message.what === 'gather') void this.#gather(worker, message.number)
    else if (message.what === 'told') this.#answers.get(message.number)?.(message.told)
  }

  #miss(worker: Worker, code: number | null, signal: string): void {
    const { size, log, ended } = this.#options
    const hasListened = this.#listening.delete(worker)
    this.#onDuty.delete(worker)
    if (code !== 0) this.#code ||= code ?? 1
    if (!this.#isUp) this.stop('a worker could not begin')
    if (this.#isStopping) {
      if (Object.keys(cluster.workers ?? {}).length === 0) ended(this.#code)
      return
    }
    this.#code = 0
    if (this.#onDuty.size >= size) return
    const about = { worker: worker.id, pid: worker.process.pid, code, signal }
    log.error(about, 'a worker has ended; another one takes its place')
    const isLeader = worker === this.#leader
    const replace = (): void => void (this.#isStopping || this.#start(isLeader))
    setTimeout(replace, hasListened ? 0 : patienceMs)
  }

  /** Asks all others what their numbers are, for one who wants to add them to its own. */
  async #gather(asker: Worker, number: number): Promise<void> {
    const others = [...this.#listening].filter((worker) => worker !== asker)
    const told = await Promise.all(others.map((worker) => this.#ask(worker)))
    send(asker, { what: 'told', number, told: told.filter((each) => each !== undefined) })
  }

  /** What a worker tells; `undefined` if it doesn't in time. */
  #ask(worker: Worker): Promise<unknown> {
    const number = ++this.#questions
    return answerTo(this.#answers, number, () => send(worker, { what: 'tell', number }))
  }
}

/** A worker, as it sees itself. */
export class Member {
  readonly #worker: Worker
  readonly #answers = new Map<number, (told: unknown) => void>()
  #questions = 0
  readonly isLeader: boolean
  /** Why it is to end, if its overseer has said so. */
  reason: string | undefined

  constructor(worker: Worker, environment: NodeJS.ProcessEnv) {
    this.#worker = worker
    this.isLeader = environment[leaderMark] !== undefined
    // Node would end a worker at once that loses its overseer.
    worker.exitedAfterDisconnect = true
    worker.on('message', (message: Message) => {
      if (message.what === 'told') this.#answers.get(message.number)?.(message.told)
      if (message.what === 'leave') this.reason = message.reason
    })
  }

  /** `reload` is called when the configuration is to be read again, `tell` when somebody asks for numbers. */
  serve(reload: () => void, tell: () => Promise<unknown>): void {
    this.#worker.on('message', (message: Message) => {
      if (message.what === 'reload') reload()
      if (message.what !== 'tell') return
      const { number } = message
      void tell().then((told) => send(this.#worker, { what: 'told', number, told }))
    })
  }

  /** What all others tell, as far as they do in time. */
  async gather(): Promise<readonly unknown[]> {
    const number = ++this.#questions
    const ask = (): void => send(this.#worker, { what: 'gather', number })
    const told = await answerTo(this.#answers, number, ask, 2 * tellMs)
    return Array.isArray(told) ? (told as unknown[]) : []
  }
}

/** The answer to a question, or `undefined` if there is none in time. */
async function answerTo(
  answers: Map<number, (told: unknown) => void>,
  number: number,
  ask: () => void,
  patienceMs = tellMs,
): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const answer = new Promise((resolve) => {
    timer = setTimeout(resolve, patienceMs)
    answers.set(number, resolve)
    ask()
  })
  try {
    return await answer
  } finally {
    clearTimeout(timer)
    answers.delete(number)
  }
}

function send(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}
