/** An object of a document that somebody else has written: nothing is known of its members. */
export type Section = Readonly<Record<string, unknown>>

/** An object, or an empty one in place of anything else. */
export function section(value: unknown): Section {
  const isSection = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isSection ? (value as Section) : {}
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A value in one line, as it is written in JSON. */
export function inline(value: unknown): string {
  return JSON.stringify(value) ?? ''
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? ''
}
