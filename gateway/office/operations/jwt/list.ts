import { printable } from '../../../../shared/printable.ts'
import { timeText } from '../../../../shared/times.ts'
import { ofGateway, type AnswerOf } from '../operation.ts'
import { aligned } from '../table.ts'

export const listIssuers = ofGateway({
  name: 'jwt list',
  at: ['GET /admin/jwt'],
  summary: 'List the issuers of JWTs, with their callers and how their key sets stand',
  details:
    'Asks the running gateway. Each process fetches key sets by itself; of several workers, the first one tells.',
  parameters: {},
  role: 'read',
  run: ({ gateway }) =>
    Promise.resolve(
      gateway.front.issuers.states.map(({ settings, callers, maxCallers, ...keySet }) => ({
        issuer: settings.issuer,
        audience: settings.audience,
        algorithms: settings.algorithms,
        callers,
        maxCallers,
        /** How many of its keys verify; `null` as long as none has ever come. */
        keys: keySet.keys ?? null,
        fetchedAt:
          keySet.fetchedAtMs === undefined ? null : new Date(keySet.fetchedAtMs).toISOString(),
        failure: keySet.failure ?? null,
      })),
    ),
  text: (issuers) => {
    if (issuers.length === 0) return 'The configuration has no issuers: callers come with keys.'
    const rows = issuers.map(({ issuer, callers, maxCallers, keys, fetchedAt, failure }) => [
      printable(issuer),
      `${callers} of ${maxCallers}`,
      keys === null ? 'none yet' : String(keys),
      fetchedAt === null ? '' : timeText(Date.parse(fetchedAt)),
      failure === null ? '' : printable(failure),
    ])
    return aligned([['ISSUER', 'CALLERS', 'KEYS', 'FETCHED', 'LAST FAILURE'], ...rows])
  },
})

export type Issuers = AnswerOf<typeof listIssuers>
