/** Waits until something is done, or a time has passed: then it gives something else. */
export async function within<Result, Otherwise = undefined>(
  milliseconds: number,
  done: Promise<Result>,
  otherwise?: Otherwise,
): Promise<Result | Otherwise | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Otherwise | undefined>((resolve) => {
    timer = setTimeout(() => resolve(otherwise), milliseconds)
  })
  try {
    return await Promise.race([done, late])
  } finally {
    clearTimeout(timer)
  }
}
