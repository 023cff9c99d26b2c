/** The value of a name in a map; one that isn't there is made, and put there. */
export function entryOf<Name, Value>(map: Map<Name, Value>, name: Name, make: () => Value): Value {
  const present = map.get(name)
  if (present !== undefined) return present
  const made = make()
  map.set(name, made)
  return made
}
