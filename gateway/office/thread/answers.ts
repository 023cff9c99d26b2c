import type { MessagePort } from 'node:worker_threads'
import { atOnce } from '../../../shared/pieces.ts'
import { nameOf } from '../config/check.ts'
import { operations } from '../operations/all.ts'
import type { Context } from '../operations/context.ts'
import { desksFor } from '../operations/desks.ts'
import { examine } from '../operations/examine.ts'
import { Listed } from '../operations/listed.ts'
import type { Outcome } from '../operations/operation.ts'
import { openerOf } from '../../front/stores/open.ts'
import type { Stores } from '../../front/stores/stores.ts'
import { more, received, type Asked, type Form, type ThreadAnswer } from './messages.ts'
import { sentError } from './sent-error.ts'

/**
 * Answers the questions that come through a port. Each has stores of its own, opened as a command opens them: they read
 * beside the gateway, and no question sees what another one has cached.
 */
export function answerQuestions(gateway: MessagePort, opener = openerOf): void {
  gateway.on('message', (asked: Asked) => void answer(asked, opener))
}

async function answer(asked: Asked, opener: typeof openerOf): Promise<void> {
  const { question, handed, port } = asked
  const tell = (message: ThreadAnswer): void =>
    port.postMessage(message, 'text' in message ? [message.text.buffer] : [])
  const own = new OwnStores(port)
  try {
    const open = await opener(handed.config.store)
    const operation = operations.find(({ name }) => name === question.name)
    if (operation?.where !== 'anywhere') throw new Error(`${question.name} can't be asked here`)
    const given = received(operation.parameters, question.given)
    const outcome = await operation.run(
      contextOf(asked, () => own.get(() => open({ forCommandLine: true }))),
      given,
    )
    await sendOutcome(outcome, question.form, { tell, asked: () => own.askedForMore() })
  } catch (error) {
    tell({ is: 'error', error: sentError(error) })
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

function contextOf({ question, handed }: Asked, stores: () => Stores): Context {
  const { config, shown, lines, environment, secret } = handed
  const { by, nowMs } = question
  const clock = (): number => nowMs
  return {
    config,
    stores,
    secret,
    clock,
    desks: () => desksFor({ ...config, stores: stores(), clock, by }),
    examine: (file) => Promise.resolve(atOnce(examine(file, environment))),
    inForce: { shown, lineOf: (path) => lines[nameOf(path)] },
    refusalsOf: () => Promise.reject(new Error('only the gateway itself asks for refusals')),
    // The gateway has done it before it handed the question over.
    flush: () => Promise.resolve(),
    progress: () => () => undefined,
  }
}

type Sending = Readonly<{ tell: (message: ThreadAnswer) => void; asked: () => Promise<boolean> }>

async function sendOutcome(
  { json, csv }: Outcome,
  form: Form,
  { tell, asked }: Sending,
): Promise<void> {
  const whole = (text: string): void => tell({ is: 'whole', text: bytesOf(text) })
  const value = form === 'csv' && csv ? csv() : json()
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
