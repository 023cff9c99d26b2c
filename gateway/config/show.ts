import { stringify } from 'yaml'
import type { Config } from './config.ts'

/** A configuration as plain values, complete, and without what is secret in it. */
export function shownConfig(config: Config): unknown {
  return JSON.parse(JSON.stringify(config, plain)) as unknown
}

/** The same as YAML, for people. */
export function configText(config: Config): string {
  return stringify(shownConfig(config), { lineWidth: 100 })
}

function plain(_name: string, value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries(value)
  if (value === Infinity) return 'unlimited'
  return typeof value === 'string' ? value.replace(/\/\/[^/@\s]*@/, '//…@') : value
}
