import assert from 'node:assert/strict'

/** How a contract is run with a store. */
export type Contract<Views> = Readonly<{
  /** Declares a test, as node:test does. */
  test: (name: string, run: () => Promise<void>) => unknown
  /** Opens a store for one test. */
  open: () => Promise<Views>
}>

/** The promises of a store, each by a test of its own. */
export type Promises<Views> = Readonly<Record<string, (views: Views) => Promise<void>>>

/** Declares a test for each promise, with a store of its own. */
export function promised<Views extends Readonly<{ close: () => Promise<void> }>>(
  { test, open }: Contract<Views>,
  promises: Promises<Views>,
): void {
  for (const [name, run] of Object.entries(promises)) {
    void test(name, async () => {
      const views = await open()
      try {
        await run(views)
      } finally {
        await views.close()
      }
    })
  }
}

/** The longest wait for what comes within a second on a machine with nothing else to do. */
const longestMs = 20_000

/** Waits until something has become true. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + longestMs
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`waited ${longestMs / 1_000} s for ${what}`)
    await new Promise((go) => setTimeout(go, 10))
  }
}

/** Holds that a value has what is wanted: members of objects, elements of lists, and texts that a pattern fits. */
export function match(found: unknown, wanted: unknown, message?: string): void {
  assert.deepEqual(partOf(found, wanted), wanted, message)
}

/** The part of a value that is compared; a text that fits counts as its pattern. */
function partOf(found: unknown, wanted: unknown): unknown {
  if (wanted instanceof RegExp) {
    return typeof found === 'string' && wanted.test(found) ? wanted : found
  }
  if (typeof wanted !== 'object' || wanted === null) return found
  if (Array.isArray(wanted)) {
    return Array.isArray(found) ? found.map((each, i) => partOf(each, wanted[i])) : found
  }
  if (typeof found !== 'object' || found === null) return found
  const members = new Map(Object.entries(found))
  return Object.fromEntries(
    Object.entries(wanted).map(([name, value]) => [name, partOf(members.get(name), value)]),
  )
}
