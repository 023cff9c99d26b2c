import type { Test } from 'tap'
import { json, type Answer } from './http.ts'

/** The largest int64, in digits. */
export const most = '9223372036854775807'

/** Holds an answer to the form of every error of the backend. */
export function isError(
  t: Test,
  answer: Answer,
  status: number,
  code: string,
  sentence?: RegExp,
): void {
  t.equal(answer.status, status)
  t.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  const body = json(answer)
  t.strictSame(Object.keys(body).sort(), ['code', 'message', 'status'])
  t.equal(body['code'], code)
  t.equal(body['status'], status)
  if (sentence) t.match(body['message'], sentence)
}
