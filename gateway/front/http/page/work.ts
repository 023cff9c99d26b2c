import { useRef, useState } from 'preact/hooks'
import { messageOf } from './format.ts'

/** Work that a button begins: once at a time, and its failure is told. */
export function useWork() {
  const isUnderWay = useRef(false)
  const [isBusy, setBusy] = useState(false)
  /** Why it failed the last time. */
  const [error, setError] = useState<string>()
  /** Begins it, unless it is under way: a second click does nothing twice. Resolves to whether it was done. */
  const run = async (work: () => Promise<void>): Promise<boolean> => {
    if (isUnderWay.current) return false
    isUnderWay.current = true
    setBusy(true)
    setError(undefined)
    try {
      await work()
      return true
    } catch (thrown) {
      setError(messageOf(thrown))
      return false
    } finally {
      isUnderWay.current = false
      setBusy(false)
    }
  }
  /** Takes the failure away. */
  const forget = (): void => setError(undefined)
  return { isBusy, error, run, forget }
}
