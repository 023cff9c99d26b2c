/** Waits until something is done, or a time has passed. */
export async function within(milliseconds: number, done: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([done, late])
  clearTimeout(timer)
}
