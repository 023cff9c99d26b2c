export { list, section, type Section } from '../../http/page/sections.ts'

export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A value in one line, as it is written in JSON. */
export function inline(value: unknown): string {
  return JSON.stringify(value) ?? ''
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? ''
}
