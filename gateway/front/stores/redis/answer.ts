import { StoreDamaged, StoreUnavailable } from '../../../../shared/store-errors.ts'

/** ioredis' own sentences for these errors speak of its options. */
const gaveUp = 'the Redis of the configuration (store.redis) is out of reach'

/** Gives Redis' answer to a command; rejects with `StoreUnavailable` if Redis can't be asked. */
export function answerOf<Answer>(reply: Promise<Answer>): Promise<Answer> {
  return reply.catch((error: unknown) => {
    throw unavailable(error)
  })
}

/** A count in Redis; 0 if there is none, or if it can't be one that gateways have written. */
export function countFrom(text: string | null): number {
  const count = Number(text)
  return Number.isSafeInteger(count) && count > 0 ? count : 0
}

/**
 * Turns an error of a command into `StoreUnavailable`. An error that isn't a reply comes from the
 * connection, and most replies tell of a Redis in trouble: full, a replica, still loading. A reply
 * about the names of a command isn't one, because asking later doesn't help: it becomes `StoreDamaged` if a value behind
 * a name is the reason, and stays as it is otherwise. A script that answers for several names says of which it speaks.
 */
export function unavailable(error: unknown, name?: string): Error {
  if (!(error instanceof Error)) return new StoreUnavailable(String(error))
  if (error instanceof StoreUnavailable || error instanceof StoreDamaged) return error
  if (isOfNames(error)) return isOfValue(error) ? damaged(error, name) : error
  const isOfOptions = /MaxRetriesPerRequestError|enableOfflineQueue/.test(String(error))
  const message = isOfOptions ? gaveUp : error.message
  return new StoreUnavailable(message, { cause: error })
}

/** Whether a value is of another type, or a script couldn't reckon with it. */
function isOfValue({ message }: Error): boolean {
  return /\bWRONGTYPE\b|user_script/.test(message)
}

function damaged(error: Error, name: string | undefined): StoreDamaged {
  const sent = Reflect.get(error, 'command') as Partial<Sent> | undefined
  const names = name === undefined ? namesIn(sent) : [name]
  const what = names.length > 1 ? `one of ${names.join(', ')}` : (names[0] ?? 'a value')
  return new StoreDamaged(
    `in Redis, ${what} isn't as Tollgate writes it (${error.message}): another program may have written it; delete it`,
    { cause: error },
  )
}

/** A command, as ioredis tells it with an error. */
type Sent = Readonly<{ name: string; args: readonly unknown[] }>

function namesIn({ name = '', args = [] }: Partial<Sent> = {}): string[] {
  const names = name.startsWith('eval') ? args.slice(2, 2 + Number(args[1])) : args.slice(0, 1)
  return names.map(String)
}

/** Whether Redis refused a command because of the names in it, which says nothing about its health. */
function isOfNames({ name, message }: Error): boolean {
  // A user whose permissions don't suffice is no damage. Redis 7.0 says the former, Valkey the latter.
  if (/can't run this command|^ERR ACL failure/.test(message)) return false
  return name === 'ReplyError' && /^(?:ERR|WRONGTYPE|CROSSSLOT)\b/.test(message)
}
