import { KeyMistake } from '../keys/mistake.ts'

/** After this silence of an import of keys, another one removes its unfinished keys. */
export const importLockMs = 30_000

/** An import can't begin: another one has the lock. */
export function isRunning(): KeyMistake {
  return new KeyMistake('another import is running; wait until it has ended', 'conflict')
}

/** An import has lost its lock. */
export function interrupted(): KeyMistake {
  return new KeyMistake(
    'another import has begun meanwhile, and nothing was added; try again',
    'conflict',
  )
}
