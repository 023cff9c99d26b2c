import { isOf } from '../../../../shared/schema.ts'
import { isTargetUrl, originOf } from '../../../front/forwarding/target-url.ts'
import { hopByHop, plainName, unsendable } from '../../../front/forwarding/withheld-headers.ts'
import { decoded } from '../../../front/http/paths.ts'
import { isMasked } from '../mask.ts'
import { headerName } from '../settings/values.ts'
import { leadsTo, methodRemarks, type KnownEntry } from './entries.ts'
import {
  list,
  mistake,
  section,
  text,
  warning,
  type Quote,
  type Remark,
  type Section,
} from './remarks.ts'

export function* probeRemarks(file: Section, entries: readonly KnownEntry[]): Generator<Remark> {
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

/** The steps of a swap rise, their time is written once, its methods exist, and it leads to other targets. */
export function* swapRemarks(file: Section, quote: Quote): Generator<Remark> {
  for (const [name, upstream] of Object.entries(section(file['upstreams']))) {
    const { targets, swap: written } = section(upstream)
    const { to, steps, methods, every, for: hold } = section(written)
    const at = ['upstreams', name, 'swap']
    for (const [i, step] of list(steps).entries()) {
      const before = list(steps)[i - 1]
      if (i === 0 || percentIn(step) > percentIn(before)) continue
      yield mistake(
        [...at, 'steps', i],
        `must be above the step before, which is ${String(before)}`,
      )
    }
    if (every !== undefined && hold !== undefined) {
      yield mistake([...at, 'for'], 'is the same setting as every: write one of them')
    }
    yield* methodRemarks([...at, 'methods'], list(methods), quote)
    const present = list(targets).map(knownOrigin)
    for (const [i, target] of list(to).entries()) {
      const origin = knownOrigin(target)
      if (origin === undefined || !present.includes(origin)) continue
      yield mistake(
        [...at, 'to', i],
        'is one of the targets already: name those of the new side only',
      )
    }
  }
}

function percentIn(step: unknown): number {
  return Number.parseFloat(String(step))
}

/** The name of a target, if its URL is known and sound. */
function knownOrigin(target: unknown): string | undefined {
  const url = text(target) ?? text(section(target)['url'])
  return url !== undefined && isTargetUrl(url) ? originOf(url) : undefined
}

/** Warns of backends that get callers' cookies: those of one host are no secret to any of them. */
export function* cookieRemarks(file: Section): Generator<Remark> {
  const upstreams = Object.entries(section(file['upstreams']))
  const names = upstreams.flatMap(([name, upstream]) =>
    section(section(upstream)['forward'])['cookies'] === 'on' ? [name] : [],
  )
  for (const name of names) {
    const others = names.filter((each) => each !== name).join(', ')
    const rest = others === '' ? '' : `; the same go to ${others}`
    const sentence = `is on: the backend gets all cookies that callers have for the gateway's host${rest}`
    yield warning(['upstreams', name, 'forward', 'cookies'], sentence)
  }
}

/** The most headers that an upstream gives its backend. */
const mostHeaders = 20

/** Headers that frame a request, belong to one connection, or tell what only the gateway may tell. */
const ownHeaders = new Set(
  `${hopByHop} host content-length content-digest cookie expect via x-request-id`.split(' '),
)
const ownFamilies = /^(?:x-(?:caller|forwarded|gateway)(?:-|$)|signature|sec-websocket)/

/** Headers for a backend have names of their own, and values that can be sent. No sentence quotes a value. */
export function* headerRemarks(file: Section): Generator<Remark> {
  for (const [upstream, written] of Object.entries(section(file['upstreams']))) {
    const at = ['upstreams', upstream, 'forward', 'headers']
    const headers = Object.entries(section(section(section(written)['forward'])['headers']))
    if (headers.length > mostHeaders) {
      yield mistake(at, `must be at most ${mostHeaders} headers, got ${headers.length}`)
    }
    const places = new Map<string, string>()
    for (const [name, value] of headers) {
      if (!isOf(headerName, name)) continue
      const path = [...at, name]
      const spelled = plainName(name)
      const other = places.get(spelled)
      if (ownHeaders.has(spelled) || ownFamilies.test(spelled)) {
        yield mistake(path, 'is a header that only the gateway may send')
      } else if (other !== undefined) {
        yield mistake(path, `is ${other} as well: servers may take both for one`)
      } else places.set(spelled, name)
      const sent = text(value) ?? ''
      if (!isMasked(path, sent) && (unsendable.test(sent) || sent.trim() !== sent)) {
        yield mistake(path, 'has a character that no header can have, or a space at an end')
      }
    }
  }
}

/** Warns of upstreams that no route names: their author most likely believes them to be in use. */
export function* unusedRemarks(file: Section, entries: readonly KnownEntry[]): Generator<Remark> {
  const used = entries.map(({ upstream }) => upstream)
  if (used.includes(undefined)) return
  for (const name of Object.keys(section(file['upstreams']))) {
    if (!used.includes(name)) yield warning(['upstreams', name], 'isn’t used by any route')
  }
}
