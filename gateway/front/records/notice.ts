import { hash } from 'node:crypto'
import type { NoticeType } from './notice-types.ts'

/** A notice as it is sent: each try has the same id and the same body. */
export type Notice = Readonly<{ id: string; type: NoticeType; atMs: number; body: string }>

/** A notice for the queues. */
export type NewNotice = Notice &
  Readonly<{
    /** How long its id is remembered, so that the same event is added no second time. */
    rememberMs: number
    /** A name that several notices share. One that `yields` isn't added after another one with the same mark. */
    mark?: string
    yields?: boolean
  }>

/**
 * The parts of an event by which all gateways know it: the same event has the same parts. A change of state is told by the
 * first gateway alone, so its part may be a random one.
 */
type Parts = readonly (string | number)[]

type Event = Readonly<{ type: NoticeType; parts: Parts; atMs: number; data: object }>

type NamedKey = Readonly<{
  id: string
  name?: string | undefined
  account?: string | undefined
  test?: boolean | undefined
}>

/** A key as notices name it. A test key says so, because its quota isn't its account's. */
export function noticedKey({ id, name, account, test }: NamedKey): object {
  return { id, name: name ?? null, account: account ?? null, ...(test && { test }) }
}

const usualMemoryMs = 2 * 86_400_000

/** The notice of an event. Its id is made of the event's parts, so that gateways that see the same event make one notice. */
export function noticeOf(
  { type, parts, atMs, data }: Event,
  { rememberMs = usualMemoryMs, ...more }: Partial<NewNotice> = {},
): NewNotice {
  const timestamp = new Date(atMs).toISOString()
  const body = JSON.stringify({ type, timestamp, data })
  return { id: `msg_${digest([type, ...parts])}`, type, atMs, body, rememberMs, ...more }
}

/** A short name of some parts. */
export function digest(parts: Parts): string {
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 27)
}
