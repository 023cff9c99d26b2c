/**
 * Thrown by a store that can't be asked at the moment: nothing is broken on our side, and the same
 * question works later. A change that was asked for may have been made or not. The message is for
 * operators; `cause` is the error of the technology.
 */
export class StoreUnavailable extends Error {
  /** The answer, where the store gives one after its time. */
  late?: Promise<unknown>
}

/** Thrown where a store wasn't even asked, because of an outage: nothing was changed. */
export class StoreNotAsked extends StoreUnavailable {}

/**
 * Thrown by a store in which something isn't as Tollgate writes it, so that no waiting helps. The message is for operators;
 * `cause` is the error of the technology.
 */
export class StoreDamaged extends Error {}
