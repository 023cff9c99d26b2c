import type { Test } from 'tap'
import { json, type Answer } from './http.ts'

/** Checks that an answer is a refusal with a status and a code, and that its body has no more than every refusal. */
export function isRefused(t: Test, answer: Answer, status: number, code: string): void {
  t.equal(answer.status, status)
  t.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  const body = json(answer)
  t.strictSame(Object.keys(body), ['code', 'message', 'status'])
  t.strictSame([body['code'], body['status']], [code, status])
}

/** Checks that an answer is a 429 with a code, a sentence and the seconds to wait. */
export function isOverLimit(
  t: Test,
  answer: Answer,
  code: string,
  sentence: RegExp,
  retryAfter: number,
): void {
  t.equal(answer.status, 429)
  t.match(json(answer), { code, message: sentence, status: 429 })
  t.equal(answer.headers['retry-after'], String(retryAfter))
  t.equal(answer.headers['cache-control'], 'no-store')
}
