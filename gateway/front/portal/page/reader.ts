import type { Language } from './samples/samples.ts'

/** Who reads the page: the key, the language of samples, and what happens when a request of theirs was answered. */
export type Reader = Readonly<{
  apiKey: string | undefined
  /** Called after each answer, so that the standing is asked for again. */
  sent: () => void
  language: Language
  speak: (language: Language) => void
}>
