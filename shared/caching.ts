/** A `Vary` with one more name; a cache must compare that header of requests, too. */
export function variedBy(name: string, vary: number | string | string[] | undefined): string {
  if (vary === undefined) return name
  const before = [vary].flat().join(', ')
  const names = before.split(',').map((each) => each.trim().toLowerCase())
  return names.includes('*') || names.includes(name.toLowerCase()) ? before : `${before}, ${name}`
}

/** A `Cache-Control` that keeps an answer out of caches that several callers share. */
export function madePrivate(control: number | string | string[] | undefined): string {
  const directives = control === undefined ? [] : [control].flat().join(', ').split(',')
  const rest = directives
    .map((each) => each.trim())
    .filter((each) => each !== '' && !/^(?:public|private|s-maxage)\s*(?:=|$)/i.test(each))
  return rest.some((each) => /^no-store$/i.test(each))
    ? rest.join(', ')
    : ['private', ...rest].join(', ')
}
