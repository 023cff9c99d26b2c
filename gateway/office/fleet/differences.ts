import type { Clock } from '../../../shared/clock.ts'
import type { Log } from '../../../shared/log.ts'
import { noterFor } from '../../front/records/audit.ts'
import type { AuditStore } from '../../front/records/audit-store.ts'
import { inForceText, toldApart } from '../../front/fleet/in-force.ts'
import type { FleetNews, FleetStore } from '../../front/fleet/store.ts'
import { inForceView } from './view.ts'

export type DifferenceOptions = Readonly<{
  fleet: Pick<FleetStore, 'list'>
  audit: Pick<AuditStore, 'add'>
  log: Log
  clock: Clock
}>

/**
 * Makes the function that tells operators that the gateways of a fleet go by different configurations, and that they
 * agree again: in the log of the gateway that hears the news, and in the audit. Nothing is corrected.
 */
export function differenceReporter({ fleet, audit, log, clock }: DifferenceOptions) {
  const noted = noterFor(audit, 'gateway', clock)
  const tell = async (news: FleetNews): Promise<void> => {
    const state = toldApart(await fleet.list())
    const notice = news === 'differ' ? 'gateways.differ' : 'gateways.agree'
    const inForce = inForceView(state)
    const about = { notice, inForce }
    if (news === 'agree') log.info(about, 'the gateways run one configuration again')
    else log.warn(about, inForceText(state))
    await noted({ what: notice, subject: 'gateways', before: null, after: { inForce } })
  }
  return (news: FleetNews): void => {
    tell(news).catch((err: unknown) => {
      log.error(
        { err, news },
        'that the configurations differ, or agree again, is missing in the audit',
      )
    })
  }
}
