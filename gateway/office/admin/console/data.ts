import { createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { asApiError, ask, get, type ApiError, type Session } from './api.ts'
import { gatewayNowMs } from '../../../front/http/page/utc.ts'
import type { RunningConfig } from '../../operations/config/running.ts'

/** The operator of the tab, for all pages. */
export const Operator = createContext<Session | undefined>(undefined)

/** Whether the operator may do everything. */
export function useMayAll(): boolean {
  return useContext(Operator)?.role === 'all'
}

/** Data of the admin API: its age, and why it isn't newer. */
export type Dated<Data> = Readonly<{
  data?: Data
  /** The time of the data; `undefined` before the first answer. */
  atMs?: number
  error?: ApiError | undefined
}>

/** `reload` asks again at once. */
export type Loaded<Data> = Dated<Data> & Readonly<{ reload: () => void }>

/** Asks a path now and, with `everyMs`, again and again. A failure keeps the data, and is told beside it. */
export function useData<Data>(path: string | undefined, everyMs?: number): Loaded<Data> {
  const [state, setState] = useState<Dated<Data>>({})
  const [round, setRound] = useState(0)
  const shown = useRef(path)
  useEffect(() => {
    if (path === undefined) return
    const leaving = new AbortController()
    if (shown.current !== path) setState({})
    shown.current = path
    const load = (): void => {
      get<Data>(path, leaving.signal).then(
        (data) => setState({ data, atMs: gatewayNowMs() }),
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

/** A question that takes longer says so. */
const quickMs = 300

/** The answer about a body, or why there is none. */
export type Posted<Data> = Readonly<{
  data?: Data
  error?: ApiError
  /** Whether it is about the present body, not one before. */
  isOfIt: boolean
  /** Whether the question that runs takes long. */
  isSlow: boolean
}>

/** Asks a path about a body, a while after its last change. */
export function usePosted<Data>(
  path: string,
  body: object | string | undefined,
  pauseMs = 0,
): Posted<Data> {
  const text = JSON.stringify(body)
  const [{ of, ...state }, setState] = useState<
    Readonly<{ data?: Data; error?: ApiError; of?: string; isSlow: boolean }>
  >({ isSlow: false })
  useEffect(() => {
    if (body === undefined) return setState({ isSlow: false })
    const leaving = new AbortController()
    let timer: ReturnType<typeof setTimeout>
    const tell = (news: Readonly<{ data: Data } | { error: ApiError }>): void => {
      clearTimeout(timer)
      if (!leaving.signal.aborted) setState({ ...news, of: text, isSlow: false })
    }
    const load = (): void => {
      timer = setTimeout(() => setState((before) => ({ ...before, isSlow: true })), quickMs)
      ask<Data>('POST', path, body, leaving.signal).then(
        (data) => tell({ data }),
        (error: unknown) => tell({ error: asApiError(error) }),
      )
    }
    timer = setTimeout(load, pauseMs)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [path, text])
  return { ...state, isOfIt: of === text }
}

export type Plan = ReturnType<typeof plansIn>[number]

/** The configuration in force. */
export function useConfig(everyMs?: number): Loaded<RunningConfig> {
  return useData<RunningConfig>('/admin/config', everyMs)
}

/** The plans in force; none until they are there. */
export function usePlans(): readonly Plan[] {
  const { data } = useConfig()
  return data ? plansIn(data.config) : []
}

/** The plans of a configuration; `custom`: each key brings its own limits. */
export function plansIn({ plans }: RunningConfig['config']) {
  return Object.entries(plans).map(([name, plan]) => ({
    name,
    limits: 'limits' in plan ? ('custom' as const) : plan,
    bans: shown(plan.bans),
    operations: Object.entries(plan.operations ?? {}),
  }))
}

/** A setting as a text. */
export function shown(value: unknown): string {
  if (typeof value === 'number') return value.toLocaleString('en')
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
}
