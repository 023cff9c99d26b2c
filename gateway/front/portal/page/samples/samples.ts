import type { Call } from './call.ts'
import { curl } from './curl.ts'
import { go } from './go.ts'
import { javascript } from './javascript.ts'
import { python } from './python.ts'

/** The languages of samples, each with how a request is written in it. The key is `KEY` of the environment in all of them. */
export const samples = { curl, JavaScript: javascript, Python: python, Go: go } satisfies Readonly<
  Record<string, (call: Call) => string>
>

export type Language = keyof typeof samples

export const languages = Object.keys(samples) as readonly Language[]
