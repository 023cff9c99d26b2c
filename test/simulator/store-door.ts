import { StoreUnavailable } from '../../shared/store-errors.ts'
import type { Answer, Message } from './messages.ts'

/** `down` refuses connections; `mute` takes questions and never answers; `frozen` goes on with them when it thaws. */
export type DoorState = 'open' | 'down' | 'mute' | 'frozen'

type Waiting = () => void

/** The store as it is reached: it may be down, or hang. */
export class StoreDoor {
  state: DoorState = 'open'
  readonly #answer: (message: Message, from: string) => Answer
  #waiting: Waiting[] = []

  constructor(answer: (message: Message, from: string) => Answer) {
    this.#answer = answer
  }

  ask(
    message: Message,
    from: string,
    answered: (answer: Answer) => void,
    failed: (error: Error) => void,
  ): void {
    const run = (): void => answered(this.#answer(message, from))
    if (this.state === 'open') run()
    else if (this.state === 'frozen') this.#waiting.push(run)
    else if (this.state === 'down') failed(new StoreUnavailable('it is down'))
  }

  /** Goes on with all that came while it was frozen. */
  open(): void {
    this.state = 'open'
    const waiting = this.#waiting
    this.#waiting = []
    waiting.forEach((run) => run())
  }

  /** It is killed: nobody answers what came while it was frozen. */
  forget(): void {
    this.#waiting = []
  }
}
