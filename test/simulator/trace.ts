/** The most events that a failure tells. */
const latest = 20

/** What has happened in a simulation: a hash of all events, and the latest of them. */
export class Trace {
  readonly #lines: string[] = []
  #one = 0x811c9dc5
  #other = 0x9e3779b9

  /** Notes an event, by a line that is the same in each run of its seed. */
  note(line: string): void {
    if (this.#lines.push(line) > 4 * latest) this.#lines.splice(0, 3 * latest)
    // FNV-1a, and the same with another prime: together 64 bits.
    let [one, other] = [this.#one, this.#other]
    for (let i = 0; i < line.length; i++) {
      const code = line.charCodeAt(i)
      one = Math.imul(one ^ code, 0x01000193)
      other = Math.imul(other ^ code, 0x85ebca6b) ^ (other >>> 15)
    }
    this.#one = one >>> 0
    this.#other = other >>> 0
  }

  get hash(): string {
    return [this.#one, this.#other].map((half) => half.toString(16).padStart(8, '0')).join('')
  }

  /** The latest events, the oldest first. */
  get lines(): readonly string[] {
    return this.#lines.slice(-latest)
  }
}
