/** The names of the members that differ; `null` is as one that is missing. */
export function changedMembers(before: unknown, after: unknown): string[] {
  const [old, now] = [membersOf(before), membersOf(after)]
  const names = new Set([...Object.keys(old), ...Object.keys(now)])
  return [...names].filter(
    (name) => JSON.stringify(old[name] ?? null) !== JSON.stringify(now[name] ?? null),
  )
}

export function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
