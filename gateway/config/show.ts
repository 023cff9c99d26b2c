import { stringify } from 'yaml'
import { configFrom, type Units } from './config.ts'
import { maskedJson } from './mask.ts'
import type { ConfigFile } from './schema.ts'
import { durationFrom, instantFrom, sizeFrom } from './units.ts'

/**
 * A file that has been checked as plain values: complete, without what is secret in it, and with `${NAME}` where
 * the environment has decided. It is put together as the configuration itself is, so that no setting is forgotten.
 */
export function shownFrom(file: ConfigFile): unknown {
  const texts: string[] = []
  // A `${NAME}` in the place of an amount becomes a number that no amount can be, and a text again below.
  const amount = (from: (text: string) => number | undefined) => (text: string) =>
    from(text) ?? 0.5 - texts.push(text)
  const units: Units = {
    duration: amount(durationFrom),
    size: amount(sizeFrom),
    instant: amount(instantFrom),
  }
  const config = configFrom(file, units)
  const plain = (name: string, value: unknown): unknown => {
    if (value instanceof Map) return Object.fromEntries(value)
    if (value === Infinity) return 'unlimited'
    if (typeof value === 'number' && value < 0) return texts[-value - 0.5] ?? value
    return maskedJson(name, value)
  }
  const shown = JSON.parse(JSON.stringify(config, plain)) as { plans: Record<string, object> }
  for (const [name, plan] of Object.entries(file.plans)) {
    const bans = typeof plan === 'string' ? undefined : plan.bans
    if (bans?.includes('${')) Object.assign(shown.plans[name] ?? {}, { bans })
  }
  return shown
}

/** What is shown as YAML, for people. */
export function configText(shown: unknown): string {
  return stringify(shown, { lineWidth: 100 })
}
