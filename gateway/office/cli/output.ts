import { withoutTokens } from '../../../shared/log.ts'
import { printable } from '../../../shared/printable.ts'

/** A value as JSON, with every control and format character escaped, so that a terminal obeys none. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (each) =>
    [...Array(each.length).keys()]
      .map((i) => `\\u${each.charCodeAt(i).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** The message of a thrown value. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A message for standard error. Tokens in it are masked: the user may have pasted one. */
export function remark(sentence: string, beginning = 'tollgate: '): string {
  const lines = withoutTokens(sentence).split('\n').map(printable)
  return `${beginning}${lines.join('\n')}\n`
}
