import { useEffect, useRef, useState } from 'preact/hooks'
import { refusalOf, send } from './api.ts'
import { eventsIn } from './events-in.ts'
import type { ComparisonView } from '../../compare/comparison-view.ts'
import { messageOf } from '../../../front/http/page/format.ts'

export type ToCompare = Readonly<{ url: string; upstream?: string; for: string; share: string }>

/** The comparison of this tab: its latest news, and how to begin and stop one. */
export type KeptComparison = ReturnType<typeof useComparison>

type State = Readonly<{
  /** The last request for a comparison. */
  settings: ToCompare | undefined
  view: ComparisonView | undefined
  isRunning: boolean
  /** Whether the operator has stopped it. */
  isStopped: boolean
  error: string | undefined
}>

const nothing: State = {
  settings: undefined,
  view: undefined,
  isRunning: false,
  isStopped: false,
  error: undefined,
}

/**
 * Keeps a comparison while the console is open: other pages don't end it. The gateway ends it when nobody
 * listens any more: when it is stopped, or the tab is closed.
 */
export function useComparison() {
  const [state, setState] = useState<State>(nothing)
  const leaving = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => leaving.current?.abort(), [])
  const follow = async (settings: ToCompare, signal: AbortSignal): Promise<void> => {
    const accept = 'text/event-stream'
    const path = '/admin/upstreams/compare'
    const answer = await send('POST', path, { body: settings, accept, signal })
    if (!answer.ok || answer.body === null) throw await refusalOf(answer)
    for await (const view of eventsIn<ComparisonView>(answer.body)) {
      setState({ ...nothing, settings, view, isRunning: view.ended === null })
    }
  }
  const begin = (settings: ToCompare): void => {
    if (state.isRunning) return
    const controller = new AbortController()
    leaving.current = controller
    setState({ ...nothing, settings, isRunning: true })
    follow(settings, controller.signal).then(
      () =>
        setState((before) =>
          before.isRunning ? { ...before, isRunning: false, error: brokenOff } : before,
        ),
      (thrown: unknown) => {
        if (controller.signal.aborted) return
        setState((before) => ({ ...before, isRunning: false, error: messageOf(thrown) }))
      },
    )
  }
  const stop = (): void => {
    leaving.current?.abort()
    setState((before) => ({ ...before, isRunning: false, isStopped: true }))
  }
  return { ...state, begin, stop }
}

const brokenOff = 'The gateway has ended the connection before the comparison was done.'
