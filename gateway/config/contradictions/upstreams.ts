import { decoded } from '../../http/paths.ts'
import { entriesIn, leadsTo } from './entries.ts'
import { list, mistake, section, text, warning, type Saying, type Section } from './saying.ts'

export function* probeSayings(file: Section): Generator<Saying> {
  const entries = entriesIn(file)
  for (const [name, upstream] of Object.entries(section(file['upstreams']))) {
    for (const [i, probe] of list(section(upstream)['probes']).entries()) {
      const [method = '', target = ''] = (text(section(probe)['request']) ?? '').split(' ')
      const [path = ''] = target.split('?', 1)
      const isLed = leadsTo(entries, method, decoded(path)).some(
        (entry) => entry.upstream === undefined || entry.upstream === name,
      )
      if (path !== '' && !isLed) {
        yield mistake(['upstreams', name, 'probes', i, 'request'], 'is led here by no route')
      }
    }
  }
}

/** An upstream that no route names is most likely one that somebody believes to be in use. */
export function* unusedSayings(file: Section): Generator<Saying> {
  const used = entriesIn(file).map(({ upstream }) => upstream)
  if (used.includes(undefined)) return
  for (const name of Object.keys(section(file['upstreams']))) {
    if (!used.includes(name)) yield warning(['upstreams', name], 'is used by no route')
  }
}
