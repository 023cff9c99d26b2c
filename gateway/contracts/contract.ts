/** How a contract is run with a store. */
export type Contract<Views> = Readonly<{
  /** Declares a test, as node:test does. */
  test: (name: string, run: () => Promise<void>) => unknown
  /** Opens a store for one test. */
  open: () => Promise<Views>
}>

/** What a store promises, each by a test of its own. */
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
