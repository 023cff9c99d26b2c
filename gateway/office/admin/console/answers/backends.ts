export type Target = Readonly<{
  healthy: boolean
  weight: number
  signed: boolean
  refusesSignature?: true
  since: string
  underWay: number
  answers: Readonly<Record<string, number>>
  p50Ms: number | null
  p95Ms: number | null
  lastFailure: Readonly<{ at: string; cause: string }> | null
}>

export type Upstreams = Readonly<Record<string, Readonly<Record<string, Target>>>>

/** One side of a swap in its present step. */
export type SwapSide = Readonly<{
  requests: number
  failures: number
  p50Ms: number | null
  p95Ms: number | null
}>

/** A swap of backends; `steps` ends with 100 for all callers. */
export type Swap = Readonly<{
  upstream: string
  from: readonly string[]
  to: readonly string[]
  state: 'waiting' | 'checking' | 'refused' | 'moving' | 'paused' | 'all' | 'back'
  step: number | null
  steps: readonly number[]
  old: SwapSide
  new: SwapSide
  summary: string
}>

type FirstByteTimes = Readonly<{ p50: number; p95: number }>

/** One route in the comparison of a would-be backend. */
export type ComparedRoute = Readonly<{
  route: string
  compared: number
  same: number
  breaks: readonly Readonly<{
    what: string
    times: number
    examples: readonly Readonly<{
      request: string
      method: string
      path: string
      mirrored: string
    }>[]
  }>[]
  presentMs: FirstByteTimes | null
  wouldBeMs: FirstByteTimes | null
}>

/** The comparison of a would-be backend; `ended` is `null` while it runs. */
export type Comparison = Readonly<{
  url: string
  share: number
  forSeconds: number
  seconds: number
  ended: string | null
  fit: boolean
  summary: string
  gateways: readonly string[]
  fleet: number
  requests: Readonly<{ compared: number; same: number; busy: number; unfit: number }>
  routes: readonly ComparedRoute[]
}>
