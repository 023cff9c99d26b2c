/** Work that waits until the browser has nothing else to do. */
const waiting: (() => void)[] = []
let isAsked = false

/**
 * Does some work once the browser has nothing else to do, in the order of the calls, so that the beginning of a long page
 * is there at once.
 */
export function whenIdle(work: () => void): void {
  waiting.push(work)
  if (isAsked) return
  isAsked = true
  next()
}

function next(): void {
  requestIdle(() => {
    waiting.shift()?.()
    if (waiting.length > 0) next()
    else isAsked = false
  })
}

function requestIdle(act: () => void): void {
  // Safari doesn't have it.
  if ('requestIdleCallback' in globalThis) requestIdleCallback(act, { timeout: 1_000 })
  else setTimeout(act)
}
