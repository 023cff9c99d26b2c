import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'
import type { Documents } from '../shelves/documents.ts'

/** The most tickets of a quota that are open at once. */
export const mostTickets = 100

/** How long a ticket is good. */
const ticketMs = 60_000

/** A ticket: which quota it is of, and its secret. */
const form = /^([\w-]{22})([\w-]{43})$/

/** Each secret encrypts one token, so there is nothing that a second nonce would keep apart. */
const nonce = Buffer.alloc(12)
const tagBytes = 16

export type Issued = Readonly<{ ticket: string; untilMs: number }>

/** All tickets that may be open are; the first one ends then, by the store's time. */
type AllOpen = Readonly<{ nowMs: number; endsAtMs: number }>

/**
 * Tickets, each of which stands for a token once. A store has the token encrypted by the ticket, and the ticket by a hash: who
 * reads a store learns neither.
 */
export class Tickets {
  readonly #documents: Documents

  constructor(documents: Documents) {
    this.#documents = documents
  }

  async issue(quota: string, token: string): Promise<Issued | AllOpen> {
    const owner = digest(quota)
    const secret = randomBytes(32)
    const cipher = createCipheriv('aes-256-gcm', secret, nonce)
    const text = Buffer.concat([cipher.update(token, 'utf8'), cipher.final(), cipher.getAuthTag()])
    const [folder, name] = [folderOf(owner), digest(secret)]
    await this.#documents.put(folder, name, text, { keptMs: ticketMs })
    // Looked at behind it: of all that are given out at once, the last one sees the others.
    const { nowMs, documents } = await this.#documents.list(folder)
    const own = documents.find((each) => each.name === name)
    if (own && documents.length <= mostTickets) {
      return { ticket: owner + secret.toString('base64url'), untilMs: own.untilMs }
    }
    await this.#documents.take(folder, name)
    return { nowMs, endsAtMs: Math.min(...documents.map(({ untilMs }) => untilMs)) }
  }

  /** Takes a ticket: its token, for the first who does; `undefined` for one that isn't good, or not any more. */
  async take(ticket: string): Promise<string | undefined> {
    const [, owner, written] = form.exec(ticket) ?? []
    if (owner === undefined || written === undefined) return undefined
    const secret = Buffer.from(written, 'base64url')
    const taken = await this.#documents.take(folderOf(owner), digest(secret))
    if (!taken) return undefined
    const decipher = createDecipheriv('aes-256-gcm', secret, nonce)
    decipher.setAuthTag(taken.body.subarray(-tagBytes))
    return (
      decipher.update(taken.body.subarray(0, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
    )
  }
}

function folderOf(owner: string): string {
  return `tickets:${owner}`
}

function digest(value: string | Buffer): string {
  return hash('sha256', value, 'base64url').slice(0, 22)
}
