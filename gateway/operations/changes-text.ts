/** The changed members, in a line. */
export function changesText(before: unknown, after: unknown): string {
  const [old, now] = [membersOf(before), membersOf(after)]
  return changedMembers(before, after)
    .map((name) => `${name}: ${shown(old[name])} → ${shown(now[name])}`)
    .join(', ')
}

/** The names of the members that differ. */
export function changedMembers(before: unknown, after: unknown): string[] {
  const [old, now] = [membersOf(before), membersOf(after)]
  const names = new Set([...Object.keys(old), ...Object.keys(now)])
  return [...names].filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]))
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function shown(value: unknown): string {
  return value === undefined || value === null ? '-' : JSON.stringify(value)
}
