/** An object of a document that somebody else has written: nothing is known of its members. */
export type Section = Record<string, unknown>

/** An object, or an empty one in place of anything else. */
export function section(value: unknown): Section {
  const isSection = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isSection ? (value as Section) : {}
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The part of a document that a reference such as `#/components/schemas/Pet` leads to; `undefined` if there is none. */
export function targetOf(document: object, reference: string): unknown {
  const steps = reference.slice(2).split('/').map(stepOf)
  return steps.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, step)
        ? Reflect.get(at, step)
        : undefined,
    document,
  )
}

/** The name for which a step of a reference stands. */
export function stepOf(text: string): string {
  const plain = text.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

/** The step of a reference for a name. */
export function stepFor(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
}

/** The operations of a path in a document: those of some methods in their order, and others behind them. */
export function operationsOf(
  item: Section,
  methods: readonly string[],
): (readonly [method: string, operation: Section])[] {
  const named = methods.map((method) => [method.toUpperCase(), item[method]] as const)
  return [...named, ...Object.entries(section(item['additionalOperations']))].flatMap(
    ([method, operation]) =>
      operation === undefined ? [] : [[method, section(operation)] as const],
  )
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
