import type { Clock } from '../../../shared/clock.ts'
import type { Log } from '../../../shared/log.ts'
import type { Reason } from '../../../shared/refusal.ts'
import { LogThrottle } from '../http/log-throttle.ts'
import { OutsideAccounts } from '../keys/outside-accounts.ts'
import type { Denial, OutsideCallers, OutsideFinder } from '../keys/outside-callers.ts'
import type { OutsideRecords } from '../keys/outside-records.ts'
import type { PlanOrigin } from './claims.ts'
import { Issuer, type Jose, type Trust } from './issuer.ts'
import { LiveKeys, type KeysState } from './live-keys.ts'
import type { JwtSettings, KeysSource } from './settings.ts'
import { jwtTokens } from './tokens.ts'

export type IssuersOptions = Readonly<{
  callers: OutsideCallers
  records: OutsideRecords
  clock: Clock
  log: Log
  /** Counts tokens that weren't let in, by their reason. */
  denied: (reason: string) => void
  /** Counts tokens that were let in with a plan by a claim, or without the claim by `else`. */
  planned: (issuer: string, by: PlanOrigin) => void
}>

/** An issuer, as operators see it. */
export type IssuerState = KeysState &
  Readonly<{ settings: JwtSettings; callers: number; maxCallers: number }>

/** The time between two log lines about an issuer that has as many callers, or a caller as many accounts, as it may. */
const everyMinuteMs = 60_000

/**
 * The issuers of a process, with their keys. A configuration that names the same issuer in the same way finds it as it is:
 * no key is fetched again, and no token verified.
 */
export class Issuers {
  readonly #options: IssuersOptions
  readonly #issuers = new ByName<Issuer>()
  readonly #trusts = new ByName<Trust>()
  readonly #keys = new ByName<LiveKeys>()
  readonly #full: LogThrottle
  readonly #accounts: OutsideAccounts

  constructor(options: IssuersOptions) {
    this.#options = options
    this.#full = new LogThrottle(options.clock, everyMinuteMs)
    this.#accounts = new OutsideAccounts(options.clock)
  }

  /**
   * Gives the finder of tokens for a configuration, and whether its callers keep their claims; `undefined` if it has no issuers.
   * Waits a second for their keys.
   */
  async open(all: readonly JwtSettings[], keepsClaims = false): Promise<OutsideFinder | undefined> {
    if (all.length === 0) return undefined
    const jose = await import('jose')
    const { callers, records } = this.#options
    records.begin()
    const issuers = new Map<unknown, Issuer>(
      all.map((settings) => [settings.issuer, this.#issuerOf(settings, jose)]),
    )
    await Promise.all([...issuers.values()].map(({ keys }) => keys.ready()))
    return jwtTokens({
      issuers,
      callers,
      accounts: this.#accounts,
      keepsClaims,
      denied: (denial, issuer) => this.#denied(denial, issuer),
      planned: this.#options.planned,
    })
  }

  /** Forgets what issuers say that a configuration doesn't have, and their keys; those of files are as it has read them. */
  keep(all: readonly JwtSettings[]): void {
    this.#issuers.keep(all.map(textOf), (issuer) => (issuer.isOutdated = true))
    this.#trusts.keep(all.map(textOfTrust), (trust) => (trust.isInForce = false))
    this.#keys.keep(
      all.map(({ keys }) => nameOf(keys)),
      (keys) => keys.close(),
    )
    for (const { keys } of all)
      if ('text' in keys) this.#keys.all.get(nameOf(keys))?.take(keys.text)
  }

  /** The issuer of settings in force, with its keys as they are by now; `undefined` of others. */
  find(settings: JwtSettings): Issuer | undefined {
    return this.#issuers.all.get(textOf(settings))
  }

  get states(): readonly IssuerState[] {
    return [...this.#issuers.all.values()].map(({ settings, maxCallers, keys }) => {
      const callers = this.#options.records.countOf(settings.issuer)
      return { settings, callers, maxCallers, ...keys.state }
    })
  }

  close(): void {
    this.keep([])
  }

  #issuerOf(settings: JwtSettings, jose: Jose): Issuer {
    const issuer = this.#issuers.take(textOf(settings), () => {
      const keys = this.#keysOf(settings.keys, settings.issuer)
      const trust = this.#trusts.take(textOfTrust(settings), () => ({ isInForce: true }))
      return new Issuer(settings, keys, jose, this.#options.clock, trust)
    })
    issuer.maxCallers = settings.maxCallers
    return issuer
  }

  #keysOf(source: KeysSource, issuer: string): LiveKeys {
    const { clock, log } = this.#options
    const trouble = (err: Error | undefined): void =>
      err
        ? log.error({ err, issuer }, 'the key set of an issuer can’t be fetched; known keys go on')
        : log.info({ issuer }, 'the key set of an issuer is fetched again')
    return this.#keys.take(nameOf(source), () => new LiveKeys({ source, clock, trouble }))
  }

  #denied({ reason, key }: Denial, issuer: string | undefined): void {
    const { denied, log } = this.#options
    denied(reason)
    const sentence = whenFull[reason]
    if (sentence === undefined) return
    const droppedLines = this.#full.take(`${reason} ${issuer}`)
    if (droppedLines !== undefined) log.error({ issuer, key, droppedLines }, sentence)
  }
}

/** Things by the texts of the settings that they are made of. */
class ByName<Thing> {
  readonly all = new Map<string, Thing>()

  /** The one of a name, which is made if there was none. */
  take(name: string, make: () => Thing): Thing {
    const thing = this.all.get(name) ?? make()
    this.all.set(name, thing)
    return thing
  }

  /** Takes those away that have other names. */
  keep(names: readonly string[], taken: (thing: Thing) => void): void {
    for (const [name, thing] of this.all) {
      if (names.includes(name)) continue
      taken(thing)
      this.all.delete(name)
    }
  }
}

/** The line of the log where a bound is reached. */
const whenFull: Readonly<{ [Each in Reason]?: string }> = {
  jwt_callers:
    'an issuer has as many callers as maxCallers allows: new ones get 503, known ones go on',
  jwt_accounts:
    'a caller has come with as many accounts as one may in a day: new ones get 503, known ones go on',
}

/** The text of settings that decide whether tokens are valid, and who comes with them. */
function textOfTrust(settings: JwtSettings): string {
  const { issuer, audience, claims, keys, algorithms, subject } = settings
  return JSON.stringify([issuer, audience, claims, nameOf(keys), algorithms, subject])
}

/** The text of settings that decide about callers: with others it is another issuer, whose tokens are verified anew. */
function textOf(settings: JwtSettings): string {
  const decisive = { ...settings, keys: nameOf(settings.keys), maxCallers: undefined }
  return JSON.stringify(decisive, (_name, value: unknown) =>
    value instanceof Map ? [...(value as ReadonlyMap<unknown, unknown>)] : value,
  )
}

/** The name of a source, whose keys may change. */
function nameOf(source: KeysSource): string {
  return JSON.stringify('text' in source ? { file: source.file } : source)
}
