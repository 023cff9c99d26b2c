import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { abandon } from '../../shared/node/abandon.ts'
import { isLastDecided, takeNoMore } from '../../shared/node/last-answer.ts'

/** How many requests of one connection may be under way behind the one that is being answered. */
const mostUnderWay = 16

/** How many requests of one connection may have come and not been answered; with the last of them it ends. */
export const mostPipelined = 100

/** How many such requests begin in one turn of the event loop, of all connections together. */
const mostInTurn = 16

export type Take = (request: IncomingMessage, response: ServerResponse) => void

type Asked = Readonly<{ request: IncomingMessage; response: ServerResponse }>

/** The requests of one connection that came before the one ahead of them was answered. */
type Line = {
  readonly waiting: Asked[]
  readonly underWay: Set<ServerResponse>
  /** Whether it is among those that have a turn. */
  hasTurn: boolean
}

/**
 * Requests that were sent without waiting for the answers ahead of them. They stand in line, and connections take
 * turns: Node hands on all that come in one read, up to 2,000, before it looks at any other connection.
 */
export class Pipelines {
  readonly #take: Take
  readonly #lines = new Map<Socket, Line>()
  readonly #turns: Line[] = []
  #isPlanned = false

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
    this.#plan()
  }

  #plan(): void {
    if (this.#isPlanned || this.#turns.length === 0) return
    this.#isPlanned = true
    setImmediate(this.#run)
  }

  readonly #run = (): void => {
    this.#isPlanned = false
    for (let i = 0; i < mostInTurn; i++) {
      const line = this.#turns.shift()
      if (!line) return
      line.hasTurn = false
      this.#begin(line)
    }
    this.#plan()
  }

  #begin(line: Line): void {
    const asked = line.waiting.shift()
    if (!asked) return
    const { request, response } = asked
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
