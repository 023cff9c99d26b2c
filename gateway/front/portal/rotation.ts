import { Refusal } from '../../../shared/refusal.ts'
import { readerOf, Type } from '../../../shared/schema.ts'
import { waitText } from '../../../shared/times.ts'
import { durationFrom } from '../../../shared/units.ts'
import { stateOf, type Caller } from '../keys/caller.ts'
import type { Key } from '../keys/key.ts'
import { KeyMistake } from '../keys/mistake.ts'
import { hashOf } from '../keys/token.ts'
import { keyView } from '../keys/view.ts'
import { dayMs } from '../../../shared/windows.ts'
import { KeyDesk } from '../keys/key-desk.ts'
import { noterFor, type Noted } from '../records/audit.ts'
import type { Forbidden } from '../limits/refusals.ts'
import type { OwnOptions } from './own-options.ts'
import type { Answer } from '../request-record.ts'
import { telling, tooOften } from './refusals.ts'

/** How long the old token works, at least and at most, and without `overlap`. */
const leastOverlapMs = 3_600_000
const mostOverlapMs = 7 * dayMs
const usualOverlapMs = dayMs

/** How often a key may be rotated with itself in a day, in UTC. */
const mostADay = 3

const ofIssuer = 'Your token is not a key of this API. Ask its issuer for another one.'

const wishFrom = readerOf(
  Type.Object({ overlap: Type.Optional(Type.String()) }, { additionalProperties: false }),
)

/** The new token of a caller's own key, told once. */
export type OwnRotation = Readonly<{
  id: string
  key: string
  plan: string
  oldTokenUntil: string | undefined
}>

/**
 * Answers `POST /v1/key/rotate`: a caller gives its own key a new token. The old one goes on for an hour at least, and
 * until it has ended nobody rotates again with the key: whoever has stolen a token can't lock its owner out at once.
 */
export function rotation({ config, stores, tokenOf, clock, log }: OwnOptions): Answer {
  const { keys: store, audit, quota } = stores

  /** The audit as it is written for this key. The token is given out also if the audit can't be written. */
  function notedBy(caller: Caller): Noted {
    const noted = noterFor(audit, authorOf(caller), clock)
    return (change) =>
      noted(change).catch((err: unknown) => {
        log.error({ key: caller.id, err }, 'a rotation by its key is missing in the audit')
      })
  }

  async function requireFew(caller: Caller): Promise<void> {
    const nowMs = clock()
    const fromMs = Math.floor(nowMs / dayMs) * dayMs
    const entries = await audit.list({
      fromMs,
      limit: 1_000,
      subject: caller.id,
      what: 'keys.rotate',
    })
    const own = entries.filter(({ by }) => by === authorOf(caller))
    if (own.length < mostADay) return
    const untilMs = fromMs + dayMs
    const sentence = `A key rotates itself at most ${mostADay} times a day. Try again at ${waitText(untilMs, nowMs)}.`
    throw tooOften(sentence, untilMs, nowMs)
  }

  async function rotate(caller: Caller, token: string, overlapMs: number): Promise<OwnRotation> {
    if (stateOf(caller).outside) throw new KeyMistake(ofIssuer, 'conflict')
    await requireFew(caller)
    const desk = new KeyDesk({ store, plans: config.plans, clock, quota, noted: notedBy(caller) })
    const issued = await desk.rotate(caller.id, overlapMs, requireCurrent(token))
    const { oldTokenUntil } = keyView(issued.key, clock())
    return { id: caller.id, key: issued.token, plan: caller.plan, oldTokenUntil }
  }

  return telling(201, async (request) => {
    const { caller, stand, forbidden } = request.tollgate ?? {}
    const token = tokenOf(request)
    if (!caller || !stand || typeof token !== 'string')
      throw new Error('a rotation comes after admit')
    if (forbidden) return restricted(forbidden)
    if (stand.decision.verdict === 'banned') return banned()
    const overlapMs = overlapIn(request.body)
    return overlapMs === undefined ? wrongBody() : rotate(caller, token, overlapMs)
  })
}

/** The author of a rotation in the audit. */
function authorOf({ id }: Caller): string {
  return `key ${id}`
}

/** Only the current token may rotate, and only while no older one works. */
function requireCurrent(token: string) {
  return ({ secrets }: Key, nowMs: number): void => {
    const [current, ...older] = secrets
    const old = older.find(({ untilMs = 0 }) => untilMs > nowMs)
    if (old) {
      const until = waitText(old.untilMs ?? nowMs, nowMs)
      throw new KeyMistake(
        `An older token of this key works until ${until}. Until then only the API's operator can rotate it.`,
        'conflict',
      )
    }
    if (current?.hash === hashOf(token)) return
    throw new KeyMistake('This token was rotated out. Use the current one.', 'conflict')
  }
}

/** The overlap that a body asks for; `undefined` for one that asks for something else. */
function overlapIn(body: unknown): number | undefined {
  const text = typeof body === 'string' && body.trim() !== '' ? body : '{}'
  const value = wishFrom(text)
  if (!value) return undefined
  const { overlap } = value
  const overlapMs = overlap === undefined ? usualOverlapMs : durationFrom(overlap)
  if (overlapMs === undefined) return undefined
  return overlapMs >= leastOverlapMs && overlapMs <= mostOverlapMs ? overlapMs : undefined
}

function wrongBody(): Refusal {
  const sentence =
    'The body must be {"overlap": "24h"}, with how long the old token goes on: from 1h to 168h; without a body, 24h.'
  return new Refusal('invalid_request', sentence)
}

function restricted(why: Forbidden): Refusal {
  const sentence = 'Your key is restricted, and may not rotate itself. Ask the operator of the API.'
  return new Refusal('forbidden', sentence).because(why)
}

function banned(): Refusal {
  const sentence = 'A banned key can’t be rotated. Wait for the end of the ban.'
  return new Refusal('forbidden', sentence).because('ban')
}
