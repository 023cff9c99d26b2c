import { withCommas } from '../../../shared/commas.ts'
import { endText, iso, timeText } from '../../../shared/times.ts'
import type { SwapProgress } from './progress.ts'
import { percentText } from './judge.ts'
import { sumOf, type SideCounts } from './side-counts.ts'
import type { SeenSwap } from './store.ts'
import type { SwappedUpstream } from './swap.ts'

/** The state of a swap in one word, for programs. */
export type SwapState = 'waiting' | 'checking' | 'refused' | 'moving' | 'paused' | 'all' | 'back'

/** A swap as operators are told of it. */
export function swapView(upstream: SwappedUpstream, seen: SeenSwap) {
  const facts = factsOf(upstream, seen)
  const { name, from, to, state, progress, steps, counts, isStep, missing, dueMs } = facts
  return {
    upstream: name,
    ...{ from, to },
    state,
    /** From 1; the last one is all callers. */
    step: progress?.state === 'moving' ? progress.step + 1 : null,
    steps: [...steps, 100],
    percent: percentOf(state, progress, steps),
    since: progress ? iso(progress.sinceMs) : null,
    /** The earliest moment of the next step, if it is under way. */
    nextAt: dueMs !== undefined && state === 'moving' ? iso(dueMs) : null,
    /** The requests to the new side that the next step, or a way back, still waits for. */
    missing: isStep ? missing : null,
    why: progress?.why ?? null,
    old: sideView(counts.old),
    new: sideView(counts.new),
    summary: sentenceOf(facts),
  }
}

export type SwapView = ReturnType<typeof swapView>
export type SideView = ReturnType<typeof sideView>

function stateOf(progress: SwapProgress | undefined, steps: number): SwapState {
  if (!progress) return 'waiting'
  if (progress.state !== 'moving') return progress.state
  if (progress.step >= steps) return 'all'
  return progress.isPaused ? 'paused' : 'moving'
}

function percentOf(
  state: SwapState,
  progress: SwapProgress | undefined,
  steps: readonly number[],
): number {
  if (state === 'all') return 100
  return state === 'moving' || state === 'paused' ? (steps[progress?.step ?? 0] ?? 0) : 0
}

function sideView(side: SideCounts) {
  const { requests, failures } = side
  return {
    requests,
    failures,
    failureShare: side.failureShare,
    p50Ms: side.times.within(0.5),
    p95Ms: side.times.within(0.95),
  }
}

type Facts = ReturnType<typeof factsOf>

function factsOf({ swap, name, targets }: SwappedUpstream, seen: SeenSwap) {
  const { progress, nowMs } = seen
  const { steps, everyMs, back } = swap
  const state = stateOf(progress, steps.length)
  const counts = sumOf(seen.counts)
  const isStep = state === 'moving' || state === 'paused'
  return {
    ...{ name, state, progress, steps, counts, isStep, nowMs, after: back.after },
    missing: Math.max(0, back.after - counts.new.requests),
    dueMs: progress && isStep ? progress.sinceMs + everyMs : undefined,
    from: targets.map(({ url }) => url),
    to: swap.to.map(({ url }) => url),
  }
}

/** Where it stands, since when, what it waits for, and why it went back. */
function sentenceOf(facts: Facts): string {
  const { name, state, progress, steps } = facts
  const [from, to] = [facts.from.join(', '), facts.to.join(', ')]
  if (!progress) {
    return `The swap of ${name} has not begun: it waits until all gateways run the same configuration.`
  }
  const since = `since ${timeText(progress.sinceMs)}`
  const anew = `tollgate upstream swap resume ${name}`
  switch (state) {
    case 'checking':
    case 'waiting':
      return `The swap of ${name} begins: ${to} is compared with the present targets ${since}.`
    case 'refused':
      return `The swap of ${name} doesn’t begin, ${since}: ${progress.why}. Once that is mended: ${anew}`
    case 'back':
      return `All callers of ${name} are at ${from} again ${since}: ${progress.why}. It begins again when its description changes, or by: ${anew}`
    case 'all':
      return `All callers of ${name} go to ${to} ${since}. To end the swap, write them as its targets and take swap away.`
  }
  const percent = percentText((steps[progress.step] ?? 0) / 100)
  const stepText = `Step ${progress.step + 1} of ${steps.length + 1}: ${percent} of the callers of ${name} go to ${to} ${since}`
  return `${stepText}; ${nextText(facts, anew)}.`
}

function nextText({ state, missing, after, dueMs = 0, nowMs }: Facts, anew: string): string {
  if (state === 'paused') return `it is paused until: ${anew}`
  const asked = `${withCommas(after - missing)} of ${withCommas(after)} requests`
  if (missing > 0 && nowMs >= dueMs) return `it waits for more: the new side was asked ${asked}`
  if (missing > 0)
    return `the next step comes after ${endText(dueMs, nowMs)} and ${asked} to the new side`
  return `the next step comes at ${endText(dueMs, nowMs)}`
}
