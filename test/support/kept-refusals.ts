import type { RecentRefusals } from '../../gateway/front/counts/recent-refusals.ts'
import { RequestRecord } from '../../gateway/front/request-record.ts'
import { Refusal } from '../../shared/refusal.ts'

const someRoute = {
  ...{ label: '/v1/*', cost: 1, share: undefined, forwarder: undefined, answer: undefined },
  ended: () => undefined,
}

/** Has a gateway's memory keep the refusal of a request without a key. */
export function keepRefusal(refusals: RecentRefusals, id: string, path: string, atMs = 0): void {
  const record = new RequestRecord(someRoute, path)
  record.refusal = new Refusal('missing_api_key', 'No.').because('no_header')
  const request = { id, method: 'GET' }
  const route = { upstream: 'animals', config: 'c' }
  refusals.keep({ request, record, route, status: 401, atMs, endedAtMs: 0 })
}
