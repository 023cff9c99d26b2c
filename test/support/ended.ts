import type { Ended } from '../../gateway/front/counts/ended.ts'
import { RouteMeter } from '../../gateway/front/counts/meters.ts'
import { RequestRecord, type GuardedRoute } from '../../gateway/front/request-record.ts'

const guarded: GuardedRoute = {
  ...{ label: '/v1/*', cost: 1, share: undefined, forwarder: undefined, answer: undefined },
  ended: () => undefined,
}

/** A request that has ended as told: by parts of its record, and of its end. */
export function endedFor(
  told: Partial<
    Pick<
      RequestRecord,
      'caller' | 'stand' | 'terms' | 'refusal' | 'forbidden' | 'isGivenBack' | 'turnedAway'
    >
  > &
    Partial<Pick<Ended, 'route' | 'status' | 'plan' | 'atMs'>>,
): Ended {
  const { route, status = 200, plan = 'free', atMs = 0, ...ofRecord } = told
  const record = Object.assign(new RequestRecord(guarded, '/v1/x'), ofRecord)
  const { caller, stand: standing, refusal } = record
  return {
    request: { id: 'a', method: 'GET', url: '/v1/x?y' },
    record,
    route: route ?? {
      ...{ upstream: 'animals', config: 'c', isFree: false },
      meter: new RouteMeter(),
    },
    ...{ status, plan, caller, standing, atMs },
    refusedBy: refusal?.window,
    endedAtMs: performance.now(),
  }
}
