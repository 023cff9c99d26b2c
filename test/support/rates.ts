import type { Answer } from './http.ts'

/** The three rate headers of an answer: limit, remaining and reset. */
export function rate(answer: Answer): (number | undefined)[] {
  return ['limit', 'remaining', 'reset'].map((name) => {
    const value = answer.headers[`x-ratelimit-${name}`]
    return value === undefined ? undefined : Number(value)
  })
}

/** The limit, the rest and the status of an answer. */
export function statusAndRate({ status, headers }: Answer) {
  const [limit, remaining] = ['limit', 'remaining'].map((name) =>
    Number(headers[`x-ratelimit-${name}`]),
  )
  return { status, limit, remaining }
}
