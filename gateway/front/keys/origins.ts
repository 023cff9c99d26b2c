import { KeyMistake } from './mistake.ts'

/** The most origins of a key. */
const mostOrigins = 20

/** Throws a `KeyMistake` if a key can't be bound to these origins. */
export function requireOrigins(origins: readonly string[]): void {
  if (origins.length > mostOrigins)
    throw new KeyMistake(`a key has at most ${mostOrigins} origins, got ${origins.length}`)
  const wrong = origins.find((each) => !isOrigin(each))
  if (wrong === undefined) return
  throw new KeyMistake(
    `"${wrong}" isn’t an origin as browsers send it, such as https://app.example`,
  )
}

function isOrigin(text: string): boolean {
  return /^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text
}
