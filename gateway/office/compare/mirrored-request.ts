import { signatureHeader, signatureRefused } from '../../../shared/signature.ts'
import type { Timeouts } from '../../front/config/config.ts'
import type { Failure, Outgoing } from '../../front/forwarding/attempt.ts'
import { TargetAttempt } from '../../front/forwarding/target-attempt.ts'
import type { Target } from '../../front/forwarding/target.ts'
import type { IncomingHttpHeaders } from 'node:http'
import { readBody, type KeptBody } from './body.ts'

/** The answer of the would-be backend; the time is that to its first byte. */
export type WholeAnswer = Readonly<{
  status: number
  headers: IncomingHttpHeaders
  body: KeptBody
  ms: number
}>

/** That answer, or why there is none. */
export type MirroredAnswer = WholeAnswer | Readonly<{ failure: string; ms?: undefined }>

const failures: Readonly<Record<Failure['kind'], string>> = {
  unreachable: 'it can’t be reached',
  broken: 'its answer breaks off',
  late: 'it does not answer in time',
  slow: 'it does not answer in time',
  unsendable: 'the request can’t be sent again',
}

/** Asks the would-be backend once, within the times of the upstream. It never rejects. */
export function askOnce(
  target: Target,
  outgoing: Outgoing,
  timeouts: Timeouts,
): Promise<MirroredAnswer> {
  return new Promise((resolve) => {
    let isAnswered = false
    // The rest of the body may come drop by drop.
    const limit = setTimeout(() => attempt.cancel(), timeouts.responseMs + timeouts.requestMs)
    const attempt = new TargetAttempt(target, outgoing, timeouts, {
      answered: ({ status, headers, body }) => {
        isAnswered = true
        const ms = performance.now() - outgoing.sentAtMs
        void readBody(body).then((body) => {
          if (headers[signatureHeader] === signatureRefused) {
            resolve({ failure: 'it refuses signatures made with this GATEWAY_SECRET' })
          } else if (body === 'broken') resolve({ failure: failures.broken })
          else resolve({ status, headers, body, ms })
        })
      },
      upgraded: (_headers, socket) => void socket.destroy(),
      failed: ({ kind }) => resolve({ failure: failures[kind] }),
      ended: () => {
        clearTimeout(limit)
        if (!isAnswered) resolve({ failure: failures.late })
      },
    })
    attempt.begin()
  })
}
