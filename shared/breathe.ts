/** Lets the event loop serve requests between two pieces of work. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
