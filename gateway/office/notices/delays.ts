const [second, minute, hour] = [1_000, 60_000, 3_600_000]

/** The times between the tries of a notice. After the last one it is given up. */
export const delaysMs: readonly number[] = [
  10 * second,
  minute,
  5 * minute,
  30 * minute,
  2 * hour,
  8 * hour,
  24 * hour,
]
