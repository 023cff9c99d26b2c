/** The same value, which nobody can change any more, nor anything in it. */
export function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (value instanceof Map) {
    for (const each of value.values()) frozen(each)
    // A frozen map can still be set, unless that is taken from it.
    Object.assign(value, { set: refuse, delete: refuse, clear: refuse })
  } else Object.values(value).forEach(frozen)
  return Object.freeze(value)
}

function refuse(): never {
  throw new TypeError('a configuration is never changed; load another one')
}
