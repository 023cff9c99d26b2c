import type { Section } from './json.ts'

/** The refusals that most operations have word by word, which are shown once, by their statuses; each is the response of one of the operations. */
export type SharedRefusals = Readonly<{
  all: readonly (readonly [status: string, response: Section])[]
  /** Whether a response of an operation is one of them. */
  has: (response: Section) => boolean
}>

/** What counts of an operation: its responses, and those of the HEAD in it. */
type Answering = Readonly<{
  responses: readonly (readonly [status: string, response: Section])[]
  head: Answering | undefined
}>

export function sharedRefusalsIn(operations: readonly Answering[]): SharedRefusals {
  const every = operations.flatMap((each) => (each.head ? [each, each.head] : [each]))
  const byContent = new Map<string, [status: string, response: Section][]>()
  for (const { responses } of every) {
    for (const [status, response] of responses.filter(([status]) => !/^[123]/.test(status))) {
      const content = `${status} ${JSON.stringify(response)}`
      byContent.set(content, [...(byContent.get(content) ?? []), [status, response]])
    }
  }
  const shared = [...byContent.values()].filter(
    (alike) => alike.length > 1 && alike.length > every.length / 2,
  )
  const responses = new Set(shared.flat().map(([, response]) => response))
  return {
    all: shared
      .flatMap(([first]) => (first ? [first] : []))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
    has: (response) => responses.has(response),
  }
}

/** The anchor of a shared refusal's place on the page. */
export function sharedRefusalId(status: string): string {
  return `refusal-${status}`
}
