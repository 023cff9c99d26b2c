import { withMore } from '../../../shared/and-more.ts'
import type { Log } from '../../../shared/log.ts'
import type { Stores } from '../../front/stores/stores.ts'
import { noterFor } from '../../front/records/audit.ts'
import type { ConfigNews } from '../notices/config-news.ts'
import type { OnAttempt, Reloaded } from './reload.ts'

export type NoteReloadOptions = Readonly<{
  gateway: Readonly<{
    front: Readonly<{ stores: Pick<Stores, 'audit'> }>
    office: Readonly<{ notices: Readonly<{ config: ConfigNews }> }>
  }>
  metrics: Readonly<{ reloaded: (result: Reloaded) => void }>
  /** Whether this process writes what one worker writes for all. */
  isLeader: boolean
  log: Log
  /** Logs the warnings of a configuration. */
  warn: (warnings: readonly string[]) => void
}>

/** Makes the function that tells of each attempt to reload: metrics, audit, notices and log. */
export function noteReload(options: NoteReloadOptions): OnAttempt {
  const { gateway, metrics, isLeader, log, warn } = options
  const news = gateway.office.notices.config
  return (result, { file, hash, mistakes, more }, { by, candidate }) => {
    metrics.reloaded(result)
    const change = result === 'changed' ? candidate?.change : undefined
    if (change && isLeader) {
      const noted = noterFor(gateway.front.stores.audit, by, Date.now)
      noted(change).catch((err: unknown) => {
        log.error({ err }, 'a change of the configuration is missing in the audit')
      })
    }
    if (result === 'changed') {
      warn(candidate?.warnings ?? [])
      news.changed({ file, hash, by, places: Object.keys(change?.after ?? {}) })
    }
    if (mistakes === undefined) {
      news.sound()
      log.info({ hash }, `the configuration is ${result}`)
    } else {
      const lines = mistakes.split('\n')
      news.refused(file, lines, more)
      const why = 'the configuration is refused, and the one before stays in force'
      log.error({ mistakes: withMore(lines, more) }, why)
    }
  }
}
