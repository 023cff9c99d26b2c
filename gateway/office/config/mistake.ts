/** The path of a setting: names, and indexes in lists from 0. */
export type Path = readonly (string | number)[]

/**
 * A mistake in a file, at an offset of its text. A warning doesn't keep the file from being used. `path` is the setting that it
 * is about, where more than the offset says so: a section begins where its first setting does.
 */
export type Mistake = Readonly<{
  offset: number
  sentence: string
  isWarning?: boolean
  path?: Path
}>

/** The most mistakes of one kind that are told: nobody reads more of them at once. */
export const mostMistakes = 1_000
