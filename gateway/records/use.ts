import { statusByCode, type RefusalCode } from '../../shared/refusal.ts'
import { outcomeOf, type RequestRecord } from '../request-record.ts'
import { classOfStatus, type StatusClass } from './status-class.ts'

/** The name by which a request is tallied: its outcome, and the class of its status or the reason. */
export type Use = `admitted ${StatusClass}` | `refused ${RefusalCode}`

const refused = new Map(
  Object.keys(statusByCode).map((code) => [code, `refused ${code as RefusalCode}` as const]),
)

// Constants: comparing with a text that is built for each request is slower.
const admitted = {
  '1xx': 'admitted 1xx',
  '2xx': 'admitted 2xx',
  '3xx': 'admitted 3xx',
  '4xx': 'admitted 4xx',
  '5xx': 'admitted 5xx',
} as const

/** The name under which a caller's request is tallied; `undefined` for a request without a decision. */
export function useOf(record: RequestRecord, status: number): Use | undefined {
  const { standing, forbidden } = record
  if (!standing) return undefined
  if (forbidden || standing.decision.verdict !== 'admitted') return refused.get(outcomeOf(record))
  return admitted[classOfStatus(status)]
}
