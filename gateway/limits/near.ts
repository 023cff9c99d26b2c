/** The share of a limit from which on a quota is near it. */
const nearShare = 0.8

/** Whether so much of a window's limit is used that its caller should know; never without a limit. */
export function isNear(used: number, limit: number): boolean {
  return used >= limit * nearShare
}
