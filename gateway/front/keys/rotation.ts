import type { Secret } from './key.ts'

/** How long an ended secret stays in the store, so that every gateway learns of its end. */
const endedSecretMs = 24 * 3_600_000

/** The secrets that a rotation leaves: the new one, the last one for `overlapMs`, and older ones that have just ended. */
export function secretsAfterRotation(
  [current, ...older]: readonly Secret[],
  hash: string,
  nowMs: number,
  overlapMs: number,
): readonly Secret[] {
  return [
    { hash },
    ...(current ? [endBy(current, nowMs + overlapMs)] : []),
    ...older
      .map((secret) => endBy(secret, nowMs))
      .filter(({ untilMs }) => nowMs - untilMs < endedSecretMs),
  ]
}

function endBy(
  { hash, untilMs = Infinity }: Secret,
  nowMs: number,
): Readonly<{ hash: string; untilMs: number }> {
  return { hash, untilMs: Math.min(untilMs, nowMs) }
}
