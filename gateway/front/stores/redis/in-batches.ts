/** The most entries per script call of a copy, so that a call never delays decisions for long. */
export const batchSize = 200

/** The number of calls under way at a time. */
const laneCount = 4

/** Puts items in batches, several of them at a time. */
export async function inBatches<Item>(
  items: readonly Item[],
  size: number,
  put: (batch: readonly Item[]) => Promise<void>,
  lanes: number = laneCount,
): Promise<void> {
  let start = 0
  const lane = async (): Promise<void> => {
    while (start < items.length) {
      const batch = items.slice(start, start + size)
      start += size
      await put(batch)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
