import { tellingTrouble } from '../../../shared/trouble.ts'
import { within } from '../../../shared/within.ts'
import type { AuditStore } from '../records/audit-store.ts'
import type { Config, UpstreamSettings } from '../config/config.ts'
import {
  checked,
  checking,
  isToCheck,
  longestCheckMs,
  stepped,
  wentBack,
  type SwapProgress,
} from './progress.ts'
import { isDone } from './judge.ts'
import type { SwapStore } from './store.ts'
import { isSwapped, Swap, swapNameOf } from './swap.ts'

/** The time between two looks at the store. */
const lookEveryMs = 250

/** The longest that a start or a reload waits for the first look. */
const longestFirstLookMs = 2_000

/** Compares a would-be backend with the present one; resolves to why it is unfit. */
export type CheckSide = (config: Config, upstream: UpstreamSettings) => Promise<string | undefined>

export type SwapsOptions = Readonly<{
  store: SwapStore
  /** The name of this process, and the number of configurations that the fleet goes by. */
  self: Readonly<{ id: string; name: string }>
  configs: () => number
  check: CheckSide
  audit: Pick<AuditStore, 'add'>
  /** Called when the store can’t be asked, and when it can again. */
  trouble: (error: Error | undefined) => void
  log: Readonly<{
    info: (about: object, message: string) => void
    warn: SwapsOptions['log']['info']
  }>
}>

type Entry = { readonly swap: Swap; users: number; timer: NodeJS.Timeout | undefined }

/**
 * The swaps of this process. Each process looks at the store four times a second, tells its counts, and takes the next
 * step when it is due: the store takes the first that comes.
 */
export class Swaps {
  readonly #options: SwapsOptions
  readonly #tell: (error: unknown) => void
  readonly #entries = new Map<string, Entry>()
  #config: Config | undefined
  #isClosed = false

  constructor(options: SwapsOptions) {
    this.#options = options
    this.#tell = tellingTrouble(options.trouble)
  }

  /** Looks at the swaps of a configuration before it is in force, so that no caller begins at the wrong side. */
  async prepare(config: Config): Promise<void> {
    this.#config = config
    const swaps = [...config.upstreams.values()].flatMap(
      (settings) => this.#entryOf(settings) ?? [],
    )
    const looks = swaps.map(({ swap }) => this.#look(swap).catch(() => undefined))
    await within(longestFirstLookMs, Promise.all(looks))
  }

  /** The swap of an upstream, which is followed until its last user releases it. */
  acquire(settings: UpstreamSettings): Swap | undefined {
    const entry = this.#entryOf(settings)
    if (!entry) return undefined
    entry.users++
    this.#follow(entry)
    return entry.swap
  }

  release(swap: Swap): void {
    const entry = this.#entries.get(nameText(swap))
    if (!entry || --entry.users > 0) return
    clearTimeout(entry.timer)
    this.#entries.delete(nameText(swap))
  }

  /** The swap of an upstream, if it is followed. */
  see(settings: UpstreamSettings): Swap | undefined {
    if (!isSwapped(settings)) return undefined
    return this.#entries.get(nameText({ name: swapNameOf(settings) }))?.swap
  }

  close(): void {
    this.#isClosed = true
    for (const { timer } of this.#entries.values()) clearTimeout(timer)
    this.#entries.clear()
  }

  #entryOf(settings: UpstreamSettings): Entry | undefined {
    if (!isSwapped(settings)) return undefined
    const name = swapNameOf(settings)
    const present = this.#entries.get(nameText({ name }))
    if (present) return present
    const entry: Entry = { swap: new Swap(name, settings.swap), users: 0, timer: undefined }
    this.#entries.set(nameText({ name }), entry)
    return entry
  }

  #follow(entry: Entry): void {
    if (entry.timer || this.#isClosed) return
    const next = (): void => {
      entry.timer = setTimeout(() => {
        void this.#go(entry.swap).finally(() => {
          if (this.#entries.get(nameText(entry.swap)) === entry) next()
        })
      }, lookEveryMs)
      entry.timer.unref()
    }
    next()
  }

  async #look(swap: Swap): Promise<void> {
    const { store, self } = this.#options
    const { round, counts } = swap.counts
    const processRound = round < 0 ? undefined : { by: self.id, round, counts }
    const sentAtMs = performance.now()
    const seen = await store.look(swap.name, processRound)
    swap.follow(seen, { sentAtMs, answeredAtMs: performance.now() })
  }

  /** Looks at a swap, and does what is due. */
  async #go(swap: Swap): Promise<void> {
    try {
      await this.#look(swap)
      await this.#step(swap)
      this.#tell(undefined)
    } catch (error) {
      swap.alarm()
      this.#tell(error)
    }
  }

  async #step(swap: Swap): Promise<void> {
    const { seen, settings, progress } = swap
    if (!seen) return
    const { nowMs } = seen
    if (isToCheck(progress, nowMs)) return this.#check(swap, nowMs)
    if (progress?.state !== 'moving') return
    const counts = swap.sums
    const why = swap.reason(counts)
    if (why !== undefined) {
      await this.#change(swap, wentBack(progress, why, nowMs), 'back')
    } else if (isDone(progress, counts, settings, nowMs)) {
      const next = stepped(progress, progress.step + 1, swap.measure(counts), nowMs)
      await this.#change(swap, next, 'step')
    }
  }

  /** Compares the new side with the old one, if the fleet agrees that there is a swap. */
  async #check(swap: Swap, nowMs: number): Promise<void> {
    const { self, configs, check } = this.#options
    const upstream = this.#config?.upstreams.get(swap.name.upstream)
    if (configs() > 1 || !this.#config || !upstream) return
    const claim = { ...checking(self.name, nowMs), round: swap.progress?.round ?? 0 }
    if (!(await this.#change(swap, claim, undefined))) return
    const tooLong = 'the comparison with the present backend took too long'
    const claimed = swap.seen?.version
    const compared = check(this.#config, upstream).catch(
      (error: unknown) => `the comparison with the present backend failed: ${String(error)}`,
    )
    const why = await within(longestCheckMs - 5_000, compared, tooLong)
    await this.#look(swap)
    // Somebody may have called it back meanwhile.
    if (!swap.seen || !swap.progress || swap.seen.version !== claimed) return
    const after = checked(swap.progress, why, swap.seen.nowMs)
    await this.#change(swap, after, why === undefined ? 'begin' : 'refused')
  }

  /** Changes the progress unless another gateway was first; writes down what callers notice. */
  async #change(swap: Swap, progress: SwapProgress, what: string | undefined): Promise<boolean> {
    const { store, audit, self, log } = this.#options
    const { seen, name } = swap
    if (!seen || !(await store.change(name, seen.version, progress))) return false
    const before = seen.progress
    swap.follow({ ...seen, version: seen.version + 1, progress, counts: [] })
    if (what === undefined) return true
    const { upstream } = name
    const say = what === 'back' || what === 'refused' ? log.warn : log.info
    say.call(log, { upstream, step: progress.step + 1, why: progress.why }, sentences[what] ?? what)
    const entry = {
      what: `swap.${what}`,
      subject: upstream,
      before: before ?? null,
      after: progress,
    }
    await audit.add({ atMs: seen.nowMs, by: `gateway ${self.name}`, ...entry })
    return true
  }
}

const sentences: Readonly<Record<string, string>> = {
  begin: 'a swap begins',
  step: 'a swap takes its next step',
  back: 'a swap has gone back',
  refused: 'a swap doesn’t begin: the new side would break something',
}

function nameText({ name: { upstream, id } }: Pick<Swap, 'name'>): string {
  return `${upstream} ${id}`
}
