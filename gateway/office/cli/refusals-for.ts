import { refusalsOf, type FoundRefusals } from '../explain/refusals-of.ts'
import type { CommandContext } from '../operations/context.ts'

/**
 * The refusals with an id, for a command: it asks the gateways of a Redis there, and the one of a file at its admin
 * address.
 */
export async function refusalsFor(
  { config, stores, askGateway }: CommandContext,
  id: string,
): Promise<FoundRefusals> {
  if (!config.store.redis) {
    return (await askGateway(`GET /admin/requests/${encodeURIComponent(id)}`)) as FoundRefusals
  }
  const { questions, fleet } = stores()
  const { members, silent } = await fleet.list()
  return refusalsOf(questions, members.length + silent, id)
}
