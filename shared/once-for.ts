/** A function that makes one result for each object, and forgets it with the object. */
export function onceFor<Source extends object, Result>(
  make: (source: Source) => Result,
): (source: Source) => Result {
  const results = new WeakMap<Source, Result>()
  return (source) => {
    const present = results.get(source)
    if (present !== undefined) return present
    const made = make(source)
    results.set(source, made)
    return made
  }
}
