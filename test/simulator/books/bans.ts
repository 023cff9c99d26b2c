/** The bans of a quota's keys, as operators and strikes have set them, whatever the store has lost since. */
export class Bans {
  readonly #bans = new Map<string, { untilMs: number; liftedAtMs: number }>()

  set(key: string, untilMs: number): void {
    const { liftedAtMs = -Infinity } = this.#bans.get(key) ?? {}
    this.#bans.set(key, { untilMs, liftedAtMs })
  }

  /** A ban that strikes have earned. Another one may run that ends later. */
  earn(key: string, untilMs: number): void {
    const before = this.#bans.get(key)?.untilMs ?? 0
    this.set(key, Math.max(before, untilMs))
  }

  lift(key: string, nowMs: number): void {
    this.#bans.set(key, { untilMs: 0, liftedAtMs: nowMs })
  }

  of(key: string): Readonly<{ untilMs: number; liftedAtMs: number }> | undefined {
    return this.#bans.get(key)
  }
}
