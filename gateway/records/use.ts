import { statusByCode, type RefusalCode } from '../../shared/refusal.ts'
import { outcomeOf, type RequestRecord } from '../request-record.ts'
import { classOfStatus, type StatusClass } from './status-class.ts'

/** The name by which a request is tallied: its outcome, and the class of its status or the reason. */
export type Use = `admitted ${StatusClass}` | `refused ${RefusalCode}`

const refused = new Map(
  Object.keys(statusByCode).map((code) => [code, `refused ${code as RefusalCode}` as const]),
)

// Made once: a text that is put together for each request is not found as quickly.
const admitted = {
  '1xx': 'admitted 1xx',
  '2xx': 'admitted 2xx',
  '3xx': 'admitted 3xx',
  '4xx': 'admitted 4xx',
  '5xx': 'admitted 5xx',
} as const

/** How a caller's request is tallied; `undefined` for one that was never decided. */
export function useOf(record: RequestRecord, status: number): Use | undefined {
  const { standing, forbidden } = record
  if (!standing) return undefined
  if (forbidden || standing.decision.verdict !== 'admitted') return refused.get(outcomeOf(record))
  return admitted[classOfStatus(status)]
}
