import { useEffect } from 'preact/hooks'
import { get } from './api.ts'

/** How often a page that is in view asks for its session: one without a request for an hour ends. */
const askEveryMs = 5 * 60_000

/** Keeps the session while the page is in view. A tab that nobody looks at asks nothing, and its session ends. */
export function useSessionKeeper(): void {
  useEffect(() => {
    const stay = (): void => {
      if (document.visibilityState === 'visible') get('/console/session').catch(() => undefined)
    }
    const timer = setInterval(stay, askEveryMs)
    return () => clearInterval(timer)
  }, [])
}
