/** How far the gateway's clock is ahead of this browser's. */
let aheadMs = 0

/** The most that a `Date` header, to the second, and an answer's way differ without any clock being wrong. */
export const toleranceMs = 2_000

/** Takes the gateway's time from the `Date` of an answer: the clock of a browser may be wrong by days. */
export function hearGatewayTime(date: string | null): void {
  const difference = Date.parse(date ?? '') - Date.now()
  if (!Number.isNaN(difference)) aheadMs = Math.abs(difference) > toleranceMs ? difference : 0
}

/** The time at the gateway, from which ages and days are counted. */
export function gatewayNowMs(): number {
  return Date.now() + aheadMs
}
