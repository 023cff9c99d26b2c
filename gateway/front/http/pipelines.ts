import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { abandon } from '../../../shared/node/abandon.ts'
import { isLastDecided, takeNoMore } from '../../../shared/node/last-answer.ts'

/** The most requests of one connection under way, beside the one that is being answered. */
const mostUnderWay = 16

/** The most unanswered requests of one connection. The connection ends with the last of them. */
const mostPipelined = 100

/** The most such requests that begin in one turn of the event loop, of all connections together. */
const mostInTurn = 16

export type Take = (request: IncomingMessage, response: ServerResponse) => void

type Exchange = Readonly<{ request: IncomingMessage; response: ServerResponse }>

/** The requests of one connection that arrived before the answer to an earlier one. */
type Line = {
  readonly waiting: Exchange[]
  readonly underWay: Set<ServerResponse>
  /** Whether it is in the list of turns. */
  hasTurn: boolean
}

/**
 * Queues pipelined requests, which were sent before earlier answers. Connections take turns: without this, Node hands
 * on all requests of one read, up to 2,000, before it serves another connection.
 */
export class Pipelines {
  readonly #take: Take
  readonly #lines = new Map<Socket, Line>()
  readonly #turns: Line[] = []
  #isScheduled = false

  constructor(take: Take) {
    this.#take = take
  }

  add(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const line = this.#lines.get(socket) ?? this.#open(socket)
    line.waiting.push({ request, response })
    if (line.waiting.length + line.underWay.size >= mostPipelined) {
      response.shouldKeepAlive = false
      takeNoMore(socket)
    }
    this.#giveTurn(line)
  }

  #open(socket: Socket): Line {
    const line: Line = { waiting: [], underWay: new Set(), hasTurn: false }
    this.#lines.set(socket, line)
    socket.once('close', () => {
      this.#lines.delete(socket)
      line.waiting.length = 0
      for (const response of line.underWay) abandon(response)
    })
    return line
  }

  #giveTurn(line: Line): void {
    if (line.hasTurn || line.waiting.length === 0 || line.underWay.size >= mostUnderWay) return
    line.hasTurn = true
    this.#turns.push(line)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#turns.length === 0) return
    this.#isScheduled = true
    setImmediate(this.#run)
  }

  readonly #run = (): void => {
    this.#isScheduled = false
    for (let i = 0; i < mostInTurn; i++) {
      const line = this.#turns.shift()
      if (!line) return
      line.hasTurn = false
      this.#begin(line)
    }
    this.#schedule()
  }

  #begin(line: Line): void {
    const next = line.waiting.shift()
    if (!next) return
    const { request, response } = next
    if (isLastDecided(request.socket)) {
      line.waiting.length = 0
      return
    }
    line.underWay.add(response)
    response.once('close', () => {
      line.underWay.delete(response)
      this.#giveTurn(line)
    })
    this.#take(request, response)
    this.#giveTurn(line)
  }
}
