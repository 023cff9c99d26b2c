/** The form of a JSON pointer (RFC 6901) to a member; the one to a whole value is empty. */
export const pointerPattern = '(?:/(?:[^~/]|~[01])*)+'

/** The names that lead to a pointer's member, the outermost first. */
export function pathOf(pointer: string): readonly string[] {
  const names = pointer.split('/').slice(1)
  return names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The member of a JSON value at a path; `undefined` if there is none. The length of a list isn't enumerable, and no member. */
export function memberAt(value: unknown, path: readonly string[]): unknown {
  let member = value
  for (const name of path) {
    if (typeof member !== 'object' || member === null) return undefined
    if (!Object.prototype.propertyIsEnumerable.call(member, name)) return undefined
    member = (member as Record<string, unknown>)[name]
  }
  return member
}
