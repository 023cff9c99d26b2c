/** Lets requests be served between two pieces of work. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
