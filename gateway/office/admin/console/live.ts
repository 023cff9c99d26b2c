import { useEffect, useState } from 'preact/hooks'
import { ApiError, asApiError, refusalOf, send } from './api.ts'
import { shapes } from './charts/over-time.ts'
import type { Dated } from './data.ts'
import { gatewayNowMs } from '../../../front/http/page/utc.ts'
import type { LiveRange, LiveRow, Snapshot } from '../../live/snapshot.ts'

/** The latest snapshot, with all rows of its range, the oldest first. */
export type Live = Readonly<{ snapshot: Snapshot; rows: readonly LiveRow[] }>

/** A gateway that tells nothing for so long is asked anew. */
const silenceMs = 5_000

/** How long to wait before a stream that has ended is opened again. */
const pauseMs = 1_000

/** The latest refusals that a page keeps. */
const keptRefusals = 500

/** Follows `GET /admin/live` while the page is visible and not paused. A failure keeps the figures, and is told beside them. */
export function useLive(range: LiveRange, isPaused: boolean): Dated<Live> {
  const [state, setState] = useState<Dated<Live>>({})
  const isVisible = useVisibility()
  useEffect(() => setState({}), [range])
  useEffect(() => {
    if (isPaused || !isVisible) return
    const leaving = new AbortController()
    void follow(range, leaving.signal, (news) => setState((before) => ({ ...before, ...news })))
    return () => leaving.abort()
  }, [range, isPaused, isVisible])
  return state
}

/** Opens the stream again and again, until the page leaves. */
async function follow(range: LiveRange, leaving: AbortSignal, tell: (news: Dated<Live>) => void) {
  while (!leaving.aborted) {
    try {
      await watch(range, leaving, (data) => tell({ data, atMs: gatewayNowMs(), error: undefined }))
      tell({ error: new ApiError(0, 'The gateway ended the live figures; reconnecting.') })
    } catch (error) {
      if (leaving.aborted) return
      tell({ error: asApiError(error) })
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/** Follows one stream to its end. */
async function watch(range: LiveRange, leaving: AbortSignal, tell: (live: Live) => void) {
  const silent = new AbortController()
  const hush = (): void =>
    silent.abort(new ApiError(0, `No live figures from the gateway for ${silenceMs / 1_000} s.`))
  let timer = setTimeout(hush, silenceMs)
  try {
    const signal = AbortSignal.any([leaving, silent.signal])
    const accept = 'text/event-stream'
    const answer = await send('GET', `/admin/live?range=${range}`, { accept, signal })
    if (!answer.ok || answer.body === null) throw await refusalOf(answer)
    let live: Live | undefined
    for await (const snapshot of eventsIn<Snapshot>(answer.body)) {
      clearTimeout(timer)
      timer = setTimeout(hush, silenceMs)
      live = joined(live, snapshot)
      tell(live)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** The data of a stream of events, in their order. */
async function* eventsIn<Data>(body: ReadableStream<BufferSource>): AsyncGenerator<Data> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const events = (rest + value).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1]
      if (data !== undefined) yield JSON.parse(data) as Data
    }
  }
}

/** A snapshot put upon those before: its rows take the places of those of the same time. */
function joined(before: Live | undefined, snapshot: Snapshot): Live {
  const fresh = snapshot.range?.rows ?? []
  const firstAt =
    Math.floor(Date.parse(snapshot.time) / 1_000) - shapes[snapshot.range?.name ?? '15m'].span
  const changed = new Set(fresh.map(({ at }) => at))
  const olderRows = (before?.rows ?? []).filter(({ at }) => at > firstAt && !changed.has(at))
  const rows = [...olderRows, ...fresh].sort((a, b) => a.at - b.at)
  const refusals = [...(before?.snapshot.refusals ?? []), ...snapshot.refusals].slice(-keptRefusals)
  return { snapshot: { ...snapshot, refusals }, rows }
}

/** Whether anybody can see the page: a hidden tab asks for nothing, so its session ends by itself. */
function useVisibility(): boolean {
  const [isVisible, setVisible] = useState(document.visibilityState === 'visible')
  useEffect(() => {
    const look = (): void => setVisible(document.visibilityState === 'visible')
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  return isVisible
}
