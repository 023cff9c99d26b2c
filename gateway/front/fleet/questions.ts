import { randomUUID } from 'node:crypto'
import { readerOf, type Static, Type } from '../../../shared/schema.ts'
import { StoreUnavailable } from '../../../shared/store-errors.ts'
import { within } from '../../../shared/within.ts'
import { ownMessages, type Messages } from '../shelves/messages.ts'

/** Answers a question to the fleet with data that JSON can hold; without an answer `undefined`. */
export type Answerer = (about: string) => unknown

/** How long a question waits for gateways that don't answer. */
export const longestAnswerMs = 800

/**
 * Questions to all gateways of a store at once, whose answers are in their memories. Every process may ask; only
 * gateways answer. No request waits for it.
 */
export interface FleetQuestions {
  /** Begins to answer questions of a kind. Returns the function that ends it. */
  answer(kind: string, answerer: Answerer): () => void

  /**
   * Asks all gateways; resolves to their answers as soon as `expected` have come, or after `longestAnswerMs`. A store
   * that can't be asked at the moment rejects with `StoreUnavailable`.
   */
  ask(kind: string, about: string, expected: number): Promise<readonly unknown[]>

  close(): void
}

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

/** The channel of all questions, and the beginning of the channels of answers, one for each process. */
const [questions, answers] = ['questions', 'answers:']

/** Questions by messages. */
export function questionsOn(messages: Messages): FleetQuestions {
  const ownAnswers = answers + randomUUID()
  const answerers = new Map<string, Answerer>()
  /** The questions of this process that wait for answers. */
  const asked = new Map<number, (answer: unknown) => void>()
  let latest = 0

  const reply = (text: string): void => {
    const { kind = '', about = '', to = '', number = 0 } = questionFrom(text) ?? {}
    const answer = to.startsWith(answers) ? answerers.get(kind)?.(about) : undefined
    if (answer === undefined) return
    const said: Answer = { number, answer }
    messages.send(to, JSON.stringify(said)).catch(() => undefined)
  }

  const take = (text: string): void => {
    const said = answerFrom(text)
    if (said) asked.get(said.number)?.(said.answer)
  }

  return {
    answer(kind, answerer) {
      if (answerers.size === 0) messages.listen(questions, reply).catch(() => undefined)
      answerers.set(kind, answerer)
      return () => answerers.delete(kind)
    },

    async ask(kind, about, expected) {
      const number = ++latest
      const got: unknown[] = []
      const enough = new Promise<void>((resolve) => {
        asked.set(number, (answer) => {
          got.push(answer)
          if (got.length >= expected) resolve()
        })
      })
      try {
        const listening = messages.listen(ownAnswers, take).then(() => true)
        if (!(await within(longestAnswerMs, listening))) {
          throw new StoreUnavailable('the store gave no answer in time')
        }
        const question: Question = { kind, about, to: ownAnswers, number }
        await messages.send(questions, JSON.stringify(question))
        if (expected > 0) await within(longestAnswerMs, enough)
        return got
      } finally {
        asked.delete(number)
      }
    },

    close: () => messages.close(),
  }
}

/** The questions to a gateway that is alone with its store: it asks itself. */
export function ownQuestions(): FleetQuestions {
  return questionsOn(ownMessages())
}
