type RefusedWindow = Readonly<{ limit: number; used: number | null; reset: number }>

export type RefusedRequest = Readonly<{
  id: string
  time: string
  gateway: string
  key: string | null
  name: string | null
  plan: string | null
  account: string | null
  route: string
  method: string
  path: string
  status: number
  code: string | null
  reason: string
  minute: RefusedWindow | null
  day: RefusedWindow | null
  strikes: number
  bannedUntil: string | null
  decidedBy: string | null
  config: string
  upstream: string | null
  target: string | null
  ownMs: number
  upstreamMs: number | null
  sentence: string
}>

export type RefusedRequests = Readonly<{
  answers: readonly RefusedRequest[]
  gateways: Readonly<{ asked: number; answered: number }>
}>
