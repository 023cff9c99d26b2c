export type Change = Readonly<{
  at: string
  by: string
  what: string
  subject: string
  before: unknown
  after: unknown
}>
