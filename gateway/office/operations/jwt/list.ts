import { withCommas } from '../../../../shared/commas.ts'
import { iso, timeText } from '../../../../shared/times.ts'
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
        /** `null` where it is `none`. */
        audience: settings.audience ?? null,
        algorithms: settings.algorithms,
        callers,
        maxCallers,
        /** How many of its keys verify; `null` as long as none has ever come. */
        keys: keySet.keys ?? null,
        /** The others of its set, and why. */
        leftOut: keySet.leftOut,
        fetchedAt: iso(keySet.fetchedAtMs) ?? null,
        failure: keySet.failure ?? null,
      })),
    ),
  text: (issuers) => {
    if (issuers.length === 0) return 'The configuration has no issuers: callers come with keys.'
    const rows = issuers.map(({ issuer, callers, maxCallers, keys, fetchedAt, failure }) => [
      issuer,
      `${withCommas(callers)} of ${withCommas(maxCallers)}`,
      keys ?? 'none yet',
      fetchedAt === null ? '' : timeText(Date.parse(fetchedAt)),
      failure ?? '',
    ])
    const heads = ['ISSUER', 'CALLERS', 'KEYS', 'FETCHED', 'LAST FAILURE']
    const leftOut = issuers.flatMap(({ issuer, leftOut }) =>
      leftOut.map(({ kid, reason }) => [issuer, kid ?? 'without kid', reason]),
    )
    const table = aligned([heads, ...rows])
    if (leftOut.length === 0) return table
    return `${table}\n\n${aligned([['ISSUER', 'KEY LEFT OUT', 'WHY'], ...leftOut])}`
  },
})

export type Issuers = AnswerOf<typeof listIssuers>
