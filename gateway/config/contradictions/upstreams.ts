import { decoded } from '../../http/paths.ts'
import { entriesIn, leadsTo } from './entries.ts'
import { list, mistake, section, text, warning, type Remark, type Section } from './remarks.ts'

export function* probeRemarks(file: Section): Generator<Remark> {
  const entries = entriesIn(file)
  for (const [name, upstream] of Object.entries(section(file['upstreams']))) {
    for (const [i, probe] of list(section(upstream)['probes']).entries()) {
      const [method = '', target = ''] = (text(section(probe)['request']) ?? '').split(' ')
      const [path = ''] = target.split('?', 1)
      const hasRoute = leadsTo(entries, method, decoded(path)).some(
        (entry) => entry.upstream === undefined || entry.upstream === name,
      )
      if (path !== '' && !hasRoute) {
        yield mistake(
          ['upstreams', name, 'probes', i, 'request'],
          'matches no route of this upstream',
        )
      }
    }
  }
}

/** Warns of upstreams that no route names: their author most likely believes them to be in use. */
export function* unusedRemarks(file: Section): Generator<Remark> {
  const used = entriesIn(file).map(({ upstream }) => upstream)
  if (used.includes(undefined)) return
  for (const name of Object.keys(section(file['upstreams']))) {
    if (!used.includes(name)) yield warning(['upstreams', name], 'isn’t used by any route')
  }
}
