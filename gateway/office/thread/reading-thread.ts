import { extname } from 'node:path'
import type { Readable } from 'node:stream'
import { MessageChannel, Worker } from 'node:worker_threads'
import { Refusal } from '../../../shared/refusal.ts'
import { answerOver } from './answer-stream.ts'
import { sendable, type Asked, type ThreadInput, type Question } from './messages.ts'

/** The most questions that are open at a time: one is worked on, the others wait for it or send lists to their clients. */
export const mostQuestions = 8

/** The heap of the thread in MB. A preview of 100,000 quotas makes the whole process 70 MB larger. */
const usualHeapMb = 512

/** Its part for new objects: a report of 100,000 quotas takes 2.2 s in place of 2.45 with V8's 32 MB. */
const youngMb = 96

/** How long the thread stays without a question. */
const usualIdleMs = 30_000

/** How long a question may take until its answer begins. */
const usualLimitMs = 120_000

export type ReadingThreadOptions = Readonly<{
  /** Gives the parts of the gateway that a question needs, when its turn has come. */
  hand: () => Promise<ThreadInput>
  /** The file that the thread runs. */
  file?: URL
  heapMb?: number
  idleMs?: number
  limitMs?: number
}>

type Running = Readonly<{
  worker: Worker
  /** Resolves to the reason when the thread has ended. */
  death: Promise<Refusal>
}>

/**
 * A thread of this process for operations that read much, so that no request of a caller waits for them. It starts with
 * the first question and ends some time after the last one.
 */
export class ReadingThread {
  readonly #options: Required<ReadingThreadOptions>
  #running: Running | undefined
  #last: Promise<unknown> = Promise.resolve()
  #open = 0
  #idle: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: ReadingThreadOptions) {
    // TypeScript in a checkout, JavaScript in a package, as this file is.
    const file = new URL(`./main${extname(import.meta.url)}`, import.meta.url)
    const usual = { heapMb: usualHeapMb, idleMs: usualIdleMs, limitMs: usualLimitMs }
    this.#options = { file, ...usual, ...options }
  }

  /**
   * Answers a question, one after the other: the next one begins when this one has its answer, or the beginning of a long
   * one. `left` aborts when the client has the whole answer, or has left, which ends the question.
   */
  ask(question: Question, left: AbortSignal): Promise<Buffer | Readable> {
    if (this.#isClosed) return Promise.reject(stopping())
    if (left.aborted) return Promise.reject(nobodyWaits())
    if (this.#open >= mostQuestions) return Promise.reject(tooMany())
    this.#open++
    clearTimeout(this.#idle)
    left.addEventListener('abort', () => this.#ended(), { once: true })
    const turn = this.#last.then(() => this.#begin(question, left))
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Ends the thread and its questions, and takes no others. */
  close(): void {
    this.#isClosed = true
    this.#end()
  }

  async #begin(question: Question, left: AbortSignal): Promise<Buffer | Readable> {
    if (left.aborted) throw nobodyWaits()
    const handed = await this.#options.hand()
    if (this.#isClosed) throw stopping()
    const { worker, death } = (this.#running ??= this.#start())
    const { port1: own, port2: port } = new MessageChannel()
    const asked: Asked = { question: sendable(question), handed, port }
    worker.postMessage(asked, [port])
    left.addEventListener('abort', () => own.close(), { once: true })
    if (left.aborted) own.close()
    const { limitMs } = this.#options
    let isLate = false
    const limit = setTimeout(() => {
      isLate = true
      this.#end()
    }, limitMs)
    const why = () => (left.aborted ? nobodyWaits() : isLate ? tookTooLong(limitMs) : death)
    return answerOver(own, why).finally(() => clearTimeout(limit))
  }

  #start(): Running {
    const { file, heapMb } = this.#options
    const worker = new Worker(file, {
      resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: youngMb },
    })
    // A thread doesn't keep the process.
    worker.unref()
    const death = new Promise<Refusal>((resolve) => {
      let cause: unknown
      worker.once('error', (error) => (cause = error))
      worker.once('exit', () => {
        if (this.#running?.worker === worker) this.#running = undefined
        resolve(this.#isClosed ? stopping() : died(cause, heapMb))
      })
    })
    return { worker, death }
  }

  #ended(): void {
    if (--this.#open > 0) return
    this.#idle = setTimeout(() => this.#end(), this.#options.idleMs)
    this.#idle.unref()
  }

  #end(): void {
    clearTimeout(this.#idle)
    const running = this.#running
    this.#running = undefined
    void running?.worker.terminate()
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

const askForLess = 'Ask for fewer days or for one plan or key, or run its command.'

function tookTooLong(limitMs: number): Refusal {
  const sentence = `This report takes more than ${limitMs / 1_000} seconds. ${askForLess}`
  return new Refusal('service_unavailable', sentence)
}

/** The end of a question that nobody is told of. */
function nobodyWaits(): Refusal {
  return new Refusal('request_timeout', 'The client has left.')
}

function died(cause: unknown, heapMb: number): Refusal {
  const isFull = (cause as { code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY'
  if (!isFull) {
    const sentence = 'The thread of this report has ended before it was done. Ask for it again.'
    return new Refusal('internal_error', sentence, {}, cause)
  }
  const sentence = `This report needs more than ${heapMb} MB of memory. ${askForLess}`
  return new Refusal('service_unavailable', sentence, {}, cause)
}
