/** A refusal as lists and answers tell of it. */
type Refused = Readonly<{ reason: string; operation?: string; cap?: true }>

/** Why a request was refused, and whose limit it was if not the plan's: "hour of exports", "minute of the cap". */
export function reasonText({ reason, operation, cap }: Refused): string {
  return `${reason}${operation === undefined ? '' : ` of ${operation}`}${cap ? ' of the cap' : ''}`
}
