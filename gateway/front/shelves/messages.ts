/**
 * Hints to all processes that listen at the moment. Nothing may depend on one: a message may be lost, and whoever may use the
 * store may send one.
 */
export interface Messages {
  /** Sends a text to all that listen to a channel. A store that can't be asked rejects with `StoreUnavailable`. */
  send(channel: string, text: string): Promise<void>

  /**
   * Begins to listen to a channel, in place of whoever listened here before, for as long as the store is open. Resolves once
   * messages are heard, and rejects with `StoreUnavailable` where they can't be; it goes on all the same.
   */
  listen(channel: string, heard: (text: string) => void): Promise<void>

  close(): void
}

/** The messages of a process that is alone with its store: it hears itself. */
export function ownMessages(): Messages {
  const listeners = new Map<string, (text: string) => void>()
  return {
    send: (channel, text) => Promise.resolve(listeners.get(channel)?.(text)),
    listen(channel, heard) {
      listeners.set(channel, heard)
      return Promise.resolve()
    },
    close: () => listeners.clear(),
  }
}
