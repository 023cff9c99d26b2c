/** The same value, frozen with everything in it. */
export function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (value instanceof Map) {
    for (const member of value.values()) frozen(member)
    // `Object.freeze` doesn't keep a Map from being changed.
    Object.assign(value, { set: refuse, delete: refuse, clear: refuse })
  } else Object.values(value).forEach(frozen)
  return Object.freeze(value)
}

function refuse(): never {
  throw new TypeError('a configuration can’t be changed; load another one')
}
