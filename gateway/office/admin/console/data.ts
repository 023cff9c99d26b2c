import { useEffect, useRef, useState } from 'preact/hooks'
import { asApiError, ask, get, type ApiError } from './api.ts'
import { gatewayNowMs } from '../../../front/http/page/gateway-time.ts'

/** Data of the admin API: its age, and why it isn't newer. */
export type Loaded<Data> = Readonly<{
  data: Data | undefined
  /** The time of the data; `undefined` before the first answer. */
  atMs: number | undefined
  error: ApiError | undefined
  /** Asks again at once. */
  reload: () => void
}>

/** Asks a path now and, with `everyMs`, again and again. A failure keeps the data, and is told beside it. */
export function useData<Data>(path: string | undefined, everyMs?: number): Loaded<Data> {
  const [state, setState] = useState<Omit<Loaded<Data>, 'reload'>>(nothing)
  const [round, setRound] = useState(0)
  const shown = useRef(path)
  useEffect(() => {
    if (path === undefined) return
    const leaving = new AbortController()
    if (shown.current !== path) setState(nothing)
    shown.current = path
    const load = (): void => {
      get<Data>(path, leaving.signal).then(
        (data) => setState({ data, atMs: gatewayNowMs(), error: undefined }),
        (error: unknown) => {
          if (leaving.signal.aborted) return
          setState((before) => ({ ...before, error: asApiError(error) }))
        },
      )
    }
    load()
    // A tab that nobody looks at asks nothing, so that its session can end.
    const loadInView = (): void => {
      if (document.visibilityState === 'visible') load()
    }
    const timer = everyMs === undefined ? undefined : setInterval(loadInView, everyMs)
    return () => {
      leaving.abort()
      clearInterval(timer)
    }
  }, [path, everyMs, round])
  return { ...state, reload: () => setRound((before) => before + 1) }
}

/** Asks a path about a body, a while after its last change. `isOfIt`: the data is about the present body, not one before. */
export function usePosted<Data>(
  path: string,
  body: object | undefined,
  pauseMs = 0,
): Loaded<Data> & Readonly<{ isOfIt: boolean }> {
  const text = JSON.stringify(body)
  const [{ of, ...state }, setState] = useState<
    Omit<Loaded<Data>, 'reload'> & Readonly<{ of?: string }>
  >(nothing)
  useEffect(() => {
    if (!body) return
    const leaving = new AbortController()
    const timer = setTimeout(() => {
      ask<Data>('POST', path, body, leaving.signal).then(
        (data) => setState({ data, atMs: gatewayNowMs(), error: undefined, of: text }),
        (error: unknown) => {
          if (!leaving.signal.aborted) setState({ ...nothing, error: asApiError(error) })
        },
      )
    }, pauseMs)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [path, text])
  return { ...state, isOfIt: of === text, reload: () => undefined }
}

/** Before the first answer. */
export const nothing = { data: undefined, atMs: undefined, error: undefined }
