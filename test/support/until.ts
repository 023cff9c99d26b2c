import { bound } from './promises.ts'

/** Waits until something has become true; fails after ten seconds, or as many as a shared machine may need. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  waitMs = 10_000,
): Promise<void> {
  const end = performance.now() + bound(waitMs)
  while (!(await holds())) {
    if (performance.now() > end)
      throw new Error(`after ${waitMs} ms it is still not so: ${holds.toString()}`)
    await new Promise((go) => setTimeout(go, 10))
  }
}
