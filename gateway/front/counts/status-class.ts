const classes = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const

export type StatusClass = (typeof classes)[number]

/** The class of a status, such as `2xx`. */
export function classOfStatus(status: number): StatusClass {
  return classes[Math.floor(status / 100) - 1] ?? '5xx'
}
