/** The most characters of a header that are read. Nobody writes longer ones, and each comma takes its time. */
const longestRead = 512

/** A `Vary` with one more name; a cache must compare that header of requests, too. */
export function variedBy(name: string, vary: number | string | string[] | undefined): string {
  if (vary === undefined) return name
  const before = [vary].flat().join(', ')
  if (before.length > longestRead) return `${before}, ${name}`
  const names = before.split(',').map((each) => each.trim().toLowerCase())
  return names.includes('*') || names.includes(name.toLowerCase()) ? before : `${before}, ${name}`
}

/** A `Cache-Control` that keeps an answer out of caches that several callers share. */
export function madePrivate(control: number | string | string[] | undefined): string {
  const before = control === undefined ? '' : [control].flat().join(', ')
  if (before.length > longestRead) return 'private, no-store'
  const rest = before
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '' && !/^(?:public|private|s-maxage)\s*(?:=|$)/i.test(each))
  return rest.some((each) => /^no-store$/i.test(each))
    ? rest.join(', ')
    : ['private', ...rest].join(', ')
}
