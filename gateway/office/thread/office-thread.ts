import { extname } from 'node:path'
import type { Readable } from 'node:stream'
import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads'
import { Refusal } from '../../../shared/refusal.ts'
import { DeskOverdue, type AskDesk } from '../config/desk.ts'
import type { AskedRefusals, StoredRefusals } from '../explain/stored-refusals.ts'
import type { OperatedGateway } from '../office.ts'
import { answerOver, valueOver } from './answer-stream.ts'
import { sendable, type Asked, type Beginning, type Question } from './messages.ts'

/** The most questions about operations that are open at a time: one is worked on, the others wait for it or send lists to their clients. */
export const mostQuestions = 8

/**
 * The heap of the thread in MB: with it, checks of any text keep the whole process below the 512 MiB that it gets in
 * Kubernetes. A preview of 100,000 quotas makes the process 70 MB larger.
 */
const usualHeapMb = 192

/** Its part for new objects. */
const youngMb = 32

/** How long a question may take until its answer begins. */
const usualLimitMs = 120_000

/** A thread that has given no sign of life for so long is replaced. */
const usualSilenceMs = 60_000

/** The delay before a thread is replaced that ended by itself. */
const replaceAfterMs = 1_000

export type OfficeThreadOptions = Readonly<{
  /** Gives the first message to a thread, before its first question. */
  begin: () => Beginning
  /** Writes down the counts in memory, before stores are read. */
  flush: () => Promise<void>
  /** Whether its questions may read the gateway's stores: not one in the process's memory. */
  readsStores: boolean
  /** The file that the thread runs. */
  file?: URL
  heapMb?: number
  limitMs?: number
  silenceMs?: number
}>

type Running = Readonly<{
  worker: Worker
  /** Resolves to the reason when the thread has ended. */
  death: Promise<Refusal>
  /** Counts the thread's signs of life. */
  beats: Int32Array
}> & { hasBegun: boolean }

type Portless<Message> = Message extends unknown ? Omit<Message, 'port'> : never

/** The end of a thread, as its questions hear of it. */
class Death extends Refusal {
  /** Why the question ends that the thread was at, if that has ended the thread. */
  overtaxed: DeskOverdue | undefined
}

/**
 * The thread of this process in which the office works, so that no request of a caller waits for it. It starts with its first
 * question: a sixth of a gateway's start. If it dies or hangs, another one takes its place, and its questions end with a refusal.
 */
export class OfficeThread {
  readonly #options: Required<OfficeThreadOptions>
  #running: Running | undefined
  #last: Promise<unknown> = Promise.resolve()
  /** Settles when all changes are made. */
  #change: Promise<unknown> = Promise.resolve()
  #open = 0
  #isClosed = false
  #hasStarted = false
  #replacing: NodeJS.Timeout | undefined
  readonly #watch: NodeJS.Timeout
  /** The threads that were ended because they gave no sign of life. */
  readonly #silent = new WeakSet<Worker>()
  /** How often a thread has taken the place of another one. */
  restarts = 0

  constructor(options: OfficeThreadOptions) {
    // TypeScript in a checkout, JavaScript in a package, as this file is.
    const file = new URL(`./main${extname(import.meta.url)}`, import.meta.url)
    const usual = { heapMb: usualHeapMb, limitMs: usualLimitMs, silenceMs: usualSilenceMs }
    this.#options = { file, ...usual, ...options }
    this.#watch = this.#watchBeats()
  }

  get readsStores(): boolean {
    return this.#options.readsStores
  }

  /**
   * Answers a question about an operation, one after the other: the next one begins when this one has its answer, or the
   * beginning of a long one. `left` aborts when the client has the whole answer, or has left, which ends the question.
   */
  ask(question: Question, left: AbortSignal): Promise<Buffer | Readable> {
    if (this.#isClosed) return Promise.reject(stopping())
    if (left.aborted) return Promise.reject(nobodyWaits())
    if (this.#open >= mostQuestions) return Promise.reject(tooMany())
    this.#open++
    if (question.operation.changes) {
      const made = this.#make(question).finally(() => this.#open--)
      // Without their answers, which nobody needs any more.
      this.#change = Promise.allSettled([this.#change, made]).then(() => undefined)
      return made
    }
    left.addEventListener('abort', () => this.#open--, { once: true })
    const turn = this.#last.then(() => this.#begin(question, left))
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Asks the desk of configurations. A question whose thread has died of something else is asked once more. */
  readonly desk: AskDesk = async (name, ...given) => {
    const ask = () => this.#value({ desk: { name, given } })
    const answer = await ask().catch((error: unknown) => (error instanceof Death ? ask() : error))
    if (answer instanceof Error) throw answer
    // The thread answers with what the desk's method gives.
    return answer as never
  }

  /** Closes the days of the ledger that are due at a time of the store's clock. */
  async closeDays(nowMs: number): Promise<void> {
    await this.#options.flush()
    await this.#value({ closeDaysAtMs: nowMs })
  }

  /** Reads refused and failed answers with an id from the store. */
  async storedRefusals(refusals: AskedRefusals): Promise<StoredRefusals> {
    return (await this.#value({ refusals })) as StoredRefusals
  }

  /** Ends the thread and its questions, and takes no others. A change is made before, if the process lives. */
  close(): void {
    this.#isClosed = true
    clearInterval(this.#watch)
    clearTimeout(this.#replacing)
    this.#end(this.#running?.worker)
  }

  /** A change is made to its end, however long it takes and whoever leaves. Reports don't wait for it. */
  async #make(question: Question): Promise<Buffer | Readable> {
    await this.#options.flush()
    if (this.#isClosed) throw stopping()
    const { port, death } = this.#send(...sendable(question))
    return answerOver(port, () => death)
  }

  async #begin(question: Question, left: AbortSignal): Promise<Buffer | Readable> {
    if (left.aborted) throw nobodyWaits()
    await this.#options.flush()
    if (this.#isClosed) throw stopping()
    const { port, worker, death } = this.#send(...sendable(question))
    left.addEventListener('abort', () => port.close(), { once: true })
    if (left.aborted) port.close()
    const { limitMs } = this.#options
    let [isLate, isOver] = [false, false]
    const limit = setTimeout(() => {
      isLate = true
      this.#end(worker, () => !isOver)
    }, limitMs)
    const why = () => (left.aborted ? nobodyWaits() : isLate ? tookTooLong(limitMs) : death)
    return answerOver(port, why).finally(() => {
      isOver = true
      clearTimeout(limit)
    })
  }

  /** Ends a thread when no change is under way, if it must end still. */
  #end(worker: Worker | undefined, mustEnd = () => true): void {
    void this.#change.then(async () => {
      if (mustEnd()) await worker?.terminate()
    })
  }

  #value(message: Portless<Asked>): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(stopping())
    const { port, death } = this.#send(message)
    return valueOver(port, async (hasBegun) => {
      const reason = await death
      return (hasBegun && reason instanceof Death && reason.overtaxed) || reason
    })
  }

  /** Sends a question to the thread, which has what is taken along then; gives the port of its answer. */
  #send(
    message: Portless<Asked>,
    taken: readonly ArrayBuffer[] = [],
  ): Running & { port: MessagePort } {
    const running = (this.#running ??= this.#hasStarted ? this.#replaced() : this.#start())
    if (!running.hasBegun) running.worker.postMessage(this.#options.begin())
    running.hasBegun = true
    const { port1: own, port2: port } = new MessageChannel()
    running.worker.postMessage({ ...message, port }, [port, ...taken])
    return { ...running, port: own }
  }

  #start(): Running {
    this.#hasStarted = true
    const { file, heapMb, silenceMs } = this.#options
    const beats = new Int32Array(new SharedArrayBuffer(4))
    const worker = new Worker(file, {
      workerData: { beats },
      resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: youngMb },
    })
    // A thread doesn't keep the process.
    worker.unref()
    const death = new Promise<Refusal>((resolve) => {
      let cause: unknown
      worker.once('error', (error) => (cause = error))
      worker.once('exit', () => {
        if (this.#running?.worker === worker) this.#running = undefined
        const isSilent = this.#silent.has(worker)
        resolve(this.#isClosed ? stopping() : died(cause, heapMb, isSilent ? silenceMs : undefined))
        if (this.#isClosed) return
        this.#replacing = setTimeout(() => (this.#running ??= this.#replaced()), replaceAfterMs)
        this.#replacing.unref()
      })
    })
    return { worker, death, beats, hasBegun: false }
  }

  #replaced(): Running {
    this.restarts++
    return this.#start()
  }

  /** Ends a thread that is silent: it hangs. */
  #watchBeats(): NodeJS.Timeout {
    const { silenceMs } = this.#options
    let seen: Readonly<{ running: Running; beat: number; atMs: number }> | undefined
    const look = (): void => {
      const running = this.#running
      if (!running) return
      const beat = Atomics.load(running.beats, 0)
      const atMs = performance.now()
      if (seen?.running !== running || seen.beat !== beat) seen = { running, beat, atMs }
      else if (atMs - seen.atMs >= silenceMs) {
        this.#silent.add(running.worker)
        void running.worker.terminate()
      }
    }
    return setInterval(look, Math.min(5_000, silenceMs / 4)).unref()
  }
}

/** The options of a gateway's thread that its stores decide. */
export function officeOf({
  config,
  front: { flushCounts, stores },
}: OperatedGateway): Pick<OfficeThreadOptions, 'flush' | 'readsStores'> {
  const { redis, file } = config.store
  return {
    readsStores: redis !== undefined || file !== ':memory:',
    async flush() {
      // A failure is in the log already: then what is stored counts.
      await Promise.allSettled([flushCounts(), stores.quota.flush?.()])
    },
  }
}

function stopping(): Refusal {
  return new Refusal('service_unavailable', 'The gateway stops. Try again later.', {
    'retry-after': '5',
  })
}

function tooMany(): Refusal {
  const sentence = `${mostQuestions} others ask for reports already. Try again later.`
  return new Refusal('service_unavailable', sentence, { 'retry-after': '5' })
}

const askForLess =
  'Ask for fewer days, for one plan or key, or send a part of the file; or run its command.'

function tookTooLong(limitMs: number): Refusal {
  const sentence = `This report takes more than ${limitMs / 1_000} seconds. ${askForLess}`
  return new Refusal('service_unavailable', sentence)
}

/** The end of a question that nobody is told of. */
function nobodyWaits(): Refusal {
  return new Refusal('request_timeout', 'The client has left.')
}

function died(cause: unknown, heapMb: number, silentMs: number | undefined): Death {
  const isFull = (cause as { code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY'
  const full = `This needs more than ${heapMb} MB of memory. ${askForLess}`
  const ended =
    'The thread of reports and configurations has ended before this was done. Ask for it again.'
  const death = new Death('service_unavailable', isFull ? full : ended, {}, cause)
  if (isFull) death.overtaxed = new DeskOverdue('service_unavailable', full)
  else if (silentMs !== undefined) {
    const late = `This takes more than ${silentMs / 1_000} seconds. ${askForLess}`
    death.overtaxed = new DeskOverdue('service_unavailable', late)
  }
  return death
}
