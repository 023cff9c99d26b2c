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

/** The questions to a gateway that is alone with its store: it asks itself. */
export function ownQuestions(): FleetQuestions {
  const answerers = new Map<string, Answerer>()
  return {
    answer(kind, answerer) {
      answerers.set(kind, answerer)
      return () => answerers.delete(kind)
    },

    ask(kind, about) {
      const answer = answerers.get(kind)?.(about)
      return Promise.resolve(answer === undefined ? [] : [answer])
    },

    close() {
      answerers.clear()
    },
  }
}
