import type { MessagePort } from 'node:worker_threads'
import type { Context } from '../operations/context.ts'
import { desksFor } from '../operations/desks.ts'
import { askHere, ConfigDesk, examined } from '../config/desk.ts'
import { Listed } from '../operations/listed.ts'
import { forPrograms } from '../operations/operation.ts'
import { openerOf } from '../../front/stores/open.ts'
import type { Stores } from '../../front/stores/stores.ts'
import {
  more,
  received,
  type Asked,
  type Beginning,
  type Form,
  type SentQuestion,
  type ThreadAnswer,
} from './messages.ts'
import { sentError } from './sent-error.ts'

/** Makes the function that answers questions about the configuration that is in force at the beginning, and later ones. */
export function answerer(beginning: Beginning, opener = openerOf): (asked: Asked) => void {
  const room: Room = { beginning, desk: new ConfigDesk(beginning), opener }
  return (asked) => void answer(asked, room)
}

type Room = Readonly<{ beginning: Beginning; desk: ConfigDesk; opener: typeof openerOf }>

async function answer(asked: Asked, room: Room): Promise<void> {
  const { port } = asked
  const tell = (message: ThreadAnswer): void =>
    port.postMessage(message, 'text' in message ? [message.text.buffer] : [])
  try {
    if ('question' in asked) return await answerOperation(asked.question, port, room, tell)
    if ('closeDaysAtMs' in asked) {
      const { closeDueDays } = await import('../ledger/ledger.ts')
      await withStores(port, room, (stores) => closeDueDays(stores(), asked.closeDaysAtMs))
      return tell({ is: 'value', value: undefined })
    }
    if ('refusals' in asked) {
      const { storedRefusals } = await import('../explain/stored-refusals.ts')
      const value = await withStores(port, room, (stores) =>
        storedRefusals(stores().refusals, asked.refusals),
      )
      return tell({ is: 'value', value })
    }
    const { name, given } = asked.desk
    tell({ is: 'begun' })
    tell({ is: 'value', value: await askHere(room.desk)(name, ...(given as [never, never])) })
  } catch (error) {
    tell({ is: 'error', error: sentError(error) })
  }
}

/**
 * Answers a question about an operation. Each has stores of its own, opened as a command opens them: they read
 * beside the gateway, and no question sees what another one has cached.
 */
async function answerOperation(
  question: SentQuestion,
  port: MessagePort,
  room: Room,
  tell: (message: ThreadAnswer) => void,
): Promise<void> {
  await withStores(port, room, async (stores, own) => {
    const { operations } = await import('../operations/all.ts')
    const operation = operations.find(({ name }) => name === question.name)
    if (operation?.where !== 'anywhere') throw new Error(`${question.name} can't be asked here`)
    const values = received(operation.parameters, question.given)
    const context = contextOf(question, room, stores)
    const result = await operation.run(context, values)
    const isCsv = question.form === 'csv' && operation.csv
    const value = isCsv ? operation.csv(result) : forPrograms(operation, result, context)
    await sendValue(value, question.form, { tell, asked: () => own.askedForMore() })
  })
}

/** Works on stores of the question's own, which are opened when they are needed first. */
async function withStores<Result>(
  port: MessagePort,
  room: Room,
  work: (stores: () => Stores, own: OwnStores) => Promise<Result>,
): Promise<Result> {
  const own = new OwnStores(port)
  try {
    const open = await room.opener(room.desk.inForce.config.store)
    return await work(() => own.get(() => open({ forCommandLine: true })), own)
  } finally {
    await own.close()
  }
}

/** The stores of one question, closed at its end, or when nobody waits for its answer: whatever reads them then fails. */
class OwnStores {
  #stores: Stores | undefined
  #isClosed = false
  #goOn = (): void => undefined

  constructor(port: MessagePort) {
    port.on('message', (message) => message === more && this.#goOn())
    port.once('close', () => {
      void this.close()
      this.#goOn()
    })
  }

  get(open: () => Stores): Stores {
    if (this.#isClosed) throw new Error('nobody waits for the answer')
    return (this.#stores ??= open())
  }

  /** Waits until the gateway asks for more; resolves to whether it does. */
  async askedForMore(): Promise<boolean> {
    if (!this.#isClosed) await new Promise<void>((resolve) => (this.#goOn = resolve))
    return !this.#isClosed
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#stores?.close()
  }
}

function contextOf(
  { operator, secret, nowMs }: SentQuestion,
  { desk, beginning }: Room,
  stores: () => Stores,
): Context {
  const { inForce } = desk
  const { config } = inForce
  const { environment } = beginning
  const begunMs = performance.now()
  // A change may take minutes, and is dated at its end.
  const clock = (): number => nowMs + Math.floor(performance.now() - begunMs)
  return {
    config,
    stores,
    secret,
    clock,
    desks: () => desksFor({ ...config, stores: stores(), clock, by: operator.name }),
    operator,
    examine: (file) => Promise.resolve(examined(file.read(), environment, file.name)),
    inForce: () => Promise.resolve({ ...inForce, file: beginning.file }),
    refusalsOf: () => Promise.reject(new Error('only the gateway itself asks for refusals')),
    // The gateway has done it before it asked.
    flush: () => Promise.resolve(),
    progress: () => () => undefined,
  }
}

type Sending = Readonly<{ tell: (message: ThreadAnswer) => void; asked: () => Promise<boolean> }>

async function sendValue(value: unknown, form: Form, { tell, asked }: Sending): Promise<void> {
  const whole = (text: string): void => tell({ is: 'whole', text: bytesOf(text) })
  if (typeof value === 'string') return whole(form === 'csv' ? value : JSON.stringify(value))
  const isStream = typeof value === 'object' && value !== null && Symbol.asyncIterator in value
  const pieces = value instanceof Listed ? value.json() : isStream ? value : undefined
  if (!pieces) return whole(JSON.stringify(value))
  for await (const text of pieces as AsyncIterable<string>) {
    tell({ is: 'piece', text: bytesOf(text) })
    if (!(await asked())) return
  }
  tell({ is: 'end' })
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}
