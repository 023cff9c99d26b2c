/** A fault to put into the protocol, as a text that is found once in a file and what takes its place. */
export type Fault = Readonly<{
  name: string
  file: string
  find: string
  replace: string
  /** The commit whose mending it undoes. */
  undoes?: string
}>
