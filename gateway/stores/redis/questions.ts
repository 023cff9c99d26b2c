import { randomUUID } from 'node:crypto'
import { longestAnswerMs, type Answerer, type FleetQuestions } from '../../fleet/questions.ts'
import { answerOf } from './answer.ts'
import { duplicate, type Connection } from './connect.ts'

/** The longest question and answer that are read: whoever may use the store may write here. */
const longestText = 1_048_576

type Question = Readonly<{ kind: string; about: string; to: string; number: number }>
type Answer = Readonly<{ number: number; answer: unknown }>

/** Questions to all gateways of a Redis, by publish and subscribe. */
export class RedisQuestions implements FleetQuestions {
  readonly #connection: Connection
  readonly #questions: string
  readonly #ownAnswers: string
  readonly #answerers = new Map<string, Answerer>()
  /** The questions of this process that wait for answers. */
  readonly #asked = new Map<number, (answer: unknown) => void>()
  /** A connection of its own, made when it is needed: one that listens can send no other commands. */
  #listener: Connection | undefined
  /** Resolves when the listener is connected; one for all that wait. */
  #ready: Promise<void> | undefined
  #number = 0

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection
    this.#questions = `${prefix}{fleet}:questions`
    this.#ownAnswers = `${prefix}{fleet}:answers:${randomUUID()}`
  }

  answer(kind: string, answerer: Answerer): () => void {
    const isFirst = this.#answerers.size === 0
    this.#answerers.set(kind, answerer)
    if (isFirst) {
      const hear = (): void => void this.#hear(this.#questions).catch(() => undefined)
      this.#listen().on('ready', hear)
      hear()
    }
    return () => this.#answerers.delete(kind)
  }

  async ask(kind: string, about: string, expected: number): Promise<readonly unknown[]> {
    const number = ++this.#number
    const answers: unknown[] = []
    const enough = new Promise<void>((resolve) => {
      this.#asked.set(number, (answer) => {
        answers.push(answer)
        if (answers.length >= expected) resolve()
      })
    })
    try {
      await answerOf(within(this.#hear(this.#ownAnswers)))
      const question: Question = { kind, about, to: this.#ownAnswers, number }
      await answerOf(this.#connection.publish(this.#questions, JSON.stringify(question)))
      if (expected > 0) await within(enough).catch(() => undefined)
      return answers
    } finally {
      this.#asked.delete(number)
    }
  }

  /** Rejects with Redis' error if this user may not publish. */
  async trySaying(): Promise<void> {
    await this.#connection.publish(this.#ownAnswers, '')
  }

  /** Rejects with Redis' error if this user may not subscribe. */
  async tryHearing(): Promise<void> {
    await within(this.#hear(this.#ownAnswers))
  }

  close(): void {
    this.#listener?.disconnect()
  }

  #listen(): Connection {
    if (this.#listener) return this.#listener
    const listener = duplicate(this.#connection)
    listener.on('message', (channel: string, text: string) => {
      if (text.length > longestText) return
      if (channel === this.#questions) this.#reply(text)
      else this.#take(text)
    })
    return (this.#listener = listener)
  }

  /** Subscribes to a channel. Doing it again does no harm, and shows that the connection is alive. */
  async #hear(channel: string): Promise<void> {
    const listener = this.#listen()
    if (listener.status !== 'ready') {
      this.#ready ??= new Promise<void>((resolve) => {
        listener.once('ready', () => {
          this.#ready = undefined
          resolve()
        })
      })
      await this.#ready
    }
    await listener.subscribe(channel)
  }

  #reply(text: string): void {
    const { kind, about, to, number } = parsed<Question>(text)
    if (typeof kind !== 'string' || typeof to !== 'string' || typeof number !== 'number') return
    const answer = this.#answerers.get(kind)?.(String(about))
    if (answer === undefined) return
    const said: Answer = { number, answer }
    this.#connection.publish(to, JSON.stringify(said)).catch(() => undefined)
  }

  #take(text: string): void {
    const { number = 0, answer } = parsed<Answer>(text)
    this.#asked.get(number)?.(answer)
  }
}

/** Waits as long as a question may take; rejects after that. */
async function within<Result>(done: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('Redis gave no answer in time')), longestAnswerMs)
  })
  try {
    return await Promise.race([done, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The members of a JSON object; none if the text isn't one. */
function parsed<Value>(text: string): Partial<Value> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
