import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Clock } from '../../../shared/clock.ts'
import { withoutTokens } from '../../../shared/log.ts'
import { version } from '../../../shared/version.ts'
import type { Member } from './store.ts'

/** The most characters of a mistake that the fleet hears of. */
const longestRefusal = 512

export type OwnMemberOptions = Readonly<{
  /** The configured name. */
  name?: string | undefined
  pid?: number | undefined
  /** The number of a worker. */
  worker?: number | undefined
  clock?: Clock
}>

/** The state of a configuration file that the fleet hears of. */
export type FileState = Readonly<{
  /** The beginning of the SHA-256 of the text in force. */
  hash: string
  /** The hash of what the gateways of a fleet have in common. */
  sharedHash: string
  loadedAtMs: number
  /** The mistakes of the file as it is now; the configuration before stays in force. */
  mistakes: string | undefined
}>

/** This gateway process, as it tells the fleet about itself. */
export class OwnMember {
  /** The configured name, with the number of the worker; else host and process. */
  readonly name: string
  /** The address for callers, once it listens. */
  address: string | undefined
  /** Gives the state of the configuration's file, once one is followed. */
  fileState: () => FileState | undefined = () => undefined
  readonly #fixed: Pick<Member, 'id' | 'name' | 'host' | 'pid' | 'worker' | 'version' | 'sinceMs'>

  constructor({ name, pid, worker, clock = Date.now }: OwnMemberOptions = {}) {
    const host = hostname()
    const process = pid === undefined ? host : `${host}:${pid}`
    this.name = name === undefined ? process : worker === undefined ? name : `${name}/${worker}`
    const id = randomUUID()
    this.#fixed = { id, name: this.name, host, pid, worker, version: version(), sinceMs: clock() }
  }

  /** The line about this process, which uses a store. */
  memberOf(store: string): Member {
    const state = this.fileState()
    const config = state && {
      hash: state.hash,
      sharedHash: state.sharedHash,
      sinceMs: state.loadedAtMs,
      refusal: state.mistakes && withoutTokens(firstLine(state.mistakes)),
    }
    return { ...this.#fixed, config, store, address: this.address }
  }
}

function firstLine(mistakes: string): string {
  const [first = ''] = mistakes.split('\n', 1)
  return first.length > longestRefusal ? `${first.slice(0, longestRefusal)}…` : first
}
