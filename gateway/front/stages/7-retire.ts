import type { onRequestHookHandler } from 'fastify'
import type { Clock } from '../../../shared/clock.ts'
import type { FindDeprecation } from '../config/deprecations.ts'
import type { Caller } from '../keys/caller.ts'
import { refuse, type RequestRecord } from '../request-record.ts'
import { announcedOf, retirement } from '../retirement.ts'

export type RetireOptions = Readonly<{
  find: FindDeprecation
  clock: Clock
  /** Called for each request to a deprecated operation, whatever its answer. */
  called: (caller: Caller, operation: string) => void
  /** Called for a request that was admitted and then isn't answered. */
  unanswered: (record: RequestRecord) => void
}>

/** Refuses operations that are past their sunset, and during brownouts before it. */
export function retire({ find, clock, called, unanswered }: RetireOptions): onRequestHookHandler {
  return function retire(request, reply, done): void {
    const { tollgate: record } = request
    if (!record?.caller) throw new Error('retire comes after authenticate')
    const announced = announcedOf(request, record, find)
    if (!announced) return done()
    called(record.caller, announced.deprecation.operation)
    const retired = retirement(announced, clock())
    if (!retired) return done()
    if (retired.isBrownout) unanswered(record)
    void refuse(reply, retired.refusal)
  }
}
