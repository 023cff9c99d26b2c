import { withMore } from '../../../shared/and-more.ts'
import type { Log } from '../../../shared/log.ts'
import { noterFor } from '../../front/records/audit.ts'
import type { AuditStore } from '../../front/records/audit-store.ts'
import type { OnAttempt, Reloaded } from './reload.ts'

export type NoteReloadOptions = Readonly<{
  audit: AuditStore
  metrics: Readonly<{ reloaded: (result: Reloaded) => void }>
  /** Whether this process writes what one worker writes for all. */
  isLeader: boolean
  log: Log
  /** Logs the warnings of a configuration. */
  warn: (warnings: readonly string[]) => void
}>

/** Makes the function that tells of each attempt to reload: metrics, audit and log. */
export function noteReload(options: NoteReloadOptions): OnAttempt {
  const { audit, metrics, isLeader, log, warn } = options
  return (result, { hash, mistakes, more }, { by, candidate }) => {
    metrics.reloaded(result)
    const change = result === 'changed' ? candidate?.change : undefined
    if (change && isLeader) {
      const noted = noterFor(audit, by, Date.now)
      noted(change).catch((err: unknown) => {
        log.error({ err }, 'a change of the configuration is missing in the audit')
      })
    }
    if (result === 'changed') warn(candidate?.warnings ?? [])
    if (mistakes === undefined) log.info({ hash }, `the configuration is ${result}`)
    else {
      const why = 'the configuration is refused, and the one before stays in force'
      log.error({ mistakes: withMore(mistakes.split('\n'), more) }, why)
    }
  }
}
