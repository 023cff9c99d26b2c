import { StoreUnavailable } from '../unavailable.ts'

/** ioredis' own sentence for this error speaks of its options. */
const gaveUp = 'the Redis of the configuration (store.redis) is out of reach'

/** Gives Redis' answer to a command; rejects with `StoreUnavailable` if Redis can't be asked. */
export function answerOf<Answer>(reply: Promise<Answer>): Promise<Answer> {
  return reply.catch((error: unknown) => {
    throw unavailable(error)
  })
}

/**
 * Turns an error of a command into `StoreUnavailable`. An error that isn't a reply comes from the
 * connection, and most replies tell of a Redis in trouble: full, a replica, still loading. A reply
 * about the names of a command stays as it is, because asking later doesn't help.
 */
export function unavailable(error: unknown): Error {
  if (!(error instanceof Error)) return new StoreUnavailable(String(error))
  if (error instanceof StoreUnavailable || isOfNames(error)) return error
  const message = error.name === 'MaxRetriesPerRequestError' ? gaveUp : error.message
  return new StoreUnavailable(message, { cause: error })
}

/** Whether Redis refused a command because of the names in it, which says nothing about its health. */
function isOfNames({ name, message }: Error): boolean {
  return name === 'ReplyError' && /^(?:ERR|WRONGTYPE|CROSSSLOT)\b/.test(message)
}
