import { useState } from 'preact/hooks'
import type { CheckedUpstream } from '../../operations/upstream/check.ts'

/** The way to another backend: its address, typed once, and what its steps have told. */
export type Migration = Readonly<{
  url: string
  /** The upstream that it would be of; empty for the first one. */
  upstream: string
  step: 'check' | 'swap'
  checked?: CheckedUpstream | undefined
  /** The description of the swap. */
  swap?: Readonly<Record<string, unknown>> | undefined
}>

export type KeptMigration = ReturnType<typeof useMigration>

/** Keeps a migration while the console is open: other pages don't end it. */
export function useMigration() {
  const [at, setAt] = useState<Migration>({ url: '', upstream: '', step: 'check' })
  const change = (news: Partial<Migration>): void => setAt((before) => ({ ...before, ...news }))
  return { at, change }
}
