import { randomUUID } from 'node:crypto'
import { readerOf, type Static, Type } from '../../../../shared/schema.ts'
import { longestAnswerMs, type Answerer, type FleetQuestions } from '../../fleet/questions.ts'
import { answerOf } from './answer.ts'
import { duplicate, hear, type Connection } from './connect.ts'

/** The longest question and answer that are read: whoever may use the store may write here. */
const longestText = 1_048_576

const questionSchema = Type.Object({
  kind: Type.String(),
  about: Type.String(),
  to: Type.String(),
  number: Type.Number(),
})
const answerSchema = Type.Object({ number: Type.Number() })
type Question = Readonly<Static<typeof questionSchema>>
type Answer = Readonly<Static<typeof answerSchema> & { answer?: unknown }>

const questionFrom = readerOf(questionSchema)
const answerFrom: (text: string) => Answer | undefined = readerOf(answerSchema)

/** Questions to all gateways of a Redis, by publish and subscribe. */
export class RedisQuestions implements FleetQuestions {
  readonly #connection: Connection
  readonly #questions: string
  readonly #answers: string
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
    this.#answers = `${prefix}{fleet}:answers:`
    this.#ownAnswers = `${this.#answers}${randomUUID()}`
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
    hear(listener, (text, channel) => {
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
    const question = questionFrom(text)
    if (!question?.to.startsWith(this.#answers)) return
    const { kind, about, to, number } = question
    const answer = this.#answerers.get(kind)?.(about)
    if (answer === undefined) return
    const said: Answer = { number, answer }
    this.#connection.publish(to, JSON.stringify(said)).catch(() => undefined)
  }

  #take(text: string): void {
    const said = answerFrom(text)
    if (said) this.#asked.get(said.number)?.(said.answer)
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
