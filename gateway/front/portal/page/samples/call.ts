/** A request as a program sends it: its URL in ASCII, and the header in which its key goes. */
export type Call = Readonly<{
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body: string | undefined
  key: Readonly<{
    name: string
    /** What stands before the key in the header. */
    before: string
  }>
}>
