import { useState } from 'preact/hooks'
import type { CheckedUpstream } from '../../operations/upstream/check.ts'
import { useComparison, type KeptComparison } from './comparison.ts'

/** The way to another backend: its address, typed once, and what its steps have told. */
export type Journey = Readonly<{
  url: string
  /** The upstream that it would be of; empty for the first one. */
  upstream: string
  step: 'check' | 'compare' | 'swap'
  checked?: CheckedUpstream | undefined
  /** The description of the swap. */
  swap?: Readonly<Record<string, unknown>> | undefined
}>

export type KeptJourney = Readonly<{
  at: Journey
  change: (news: Partial<Journey>) => void
  comparison: KeptComparison
}>

/** Keeps a journey as long as the house stands, so that other pages don't end it. */
export function useJourney(): KeptJourney {
  const [at, setAt] = useState<Journey>({ url: '', upstream: '', step: 'check' })
  const change = (news: Partial<Journey>): void => setAt((before) => ({ ...before, ...news }))
  return { at, change, comparison: useComparison() }
}
