import { useRef, useState } from 'preact/hooks'
import { messageOf } from '../../../front/http/page/format.ts'

/** The state of work that a button begins. */
export type Work = Readonly<{
  isBusy: boolean
  /** Why it failed the last time. */
  error: string | undefined
  /** Begins it, unless it is under way: a second click does nothing twice. Resolves to whether it was done. */
  run: (work: () => Promise<void>) => Promise<boolean>
  /** Takes the failure away. */
  forget: () => void
}>

/** Work that a button begins: once at a time, and its failure is told. */
export function useWork(): Work {
  const isUnderWay = useRef(false)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
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
  return { isBusy, error, run, forget: () => setError(undefined) }
}
