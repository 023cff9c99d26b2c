import { refusalsOf, type FoundRefusals } from '../explain/refusals-of.ts'
import { storedRefusals } from '../explain/stored-refusals.ts'
import type { CommandContext } from '../operations/context.ts'
import { NoAnswer } from './no-answer.ts'

/**
 * The refusals with an id, for a command: it asks the gateways of a Redis there, and the one of a file at its admin
 * address. If that one has stopped, the file has its refusals.
 */
export async function refusalsFor(context: CommandContext, id: string): Promise<FoundRefusals> {
  const { config, stores, askGateway } = context
  if (config.store.redis) {
    const { members, silent } = await stores().fleet.list()
    return fromStores(context, members.length + silent, id)
  }
  try {
    return (await askGateway(`GET /admin/requests/${encodeURIComponent(id)}`)) as FoundRefusals
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error
    const stored = await fromStores(context, 1, id)
    if (stored.answers.length === 0) throw error
    return stored
  }
}

function fromStores(
  { stores, clock }: CommandContext,
  expected: number,
  id: string,
): Promise<FoundRefusals> {
  const { questions, refusals } = stores()
  return refusalsOf(id, {
    questions,
    expected,
    readStored: (asked) => storedRefusals(refusals, { ...asked, nowMs: clock() }),
  })
}
