import { isOf } from '../../../../shared/schema.ts'
import { originOf } from '../../../front/forwarding/target-url.ts'
import { hopByHop, plainName, unsendable } from '../../../front/forwarding/withheld-headers.ts'
import { decoded } from '../../../front/http/paths.ts'
import { isMasked } from '../mask.ts'
import { headerName } from '../settings/values.ts'
import { leadsTo, methodRemarks } from './entries.ts'
import { mistake, warning, type Checked, type Remark } from './remarks.ts'

export function* probeRemarks({ file, entries }: Checked): Generator<Remark> {
  if (!entries) return
  for (const [name, upstream] of Object.entries(file.upstreams ?? {})) {
    for (const [i, { request = '' } = {}] of (upstream?.probes ?? []).entries()) {
      const [method = '', target = ''] = request.split(' ')
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
export function* swapRemarks({ file, quote }: Checked): Generator<Remark> {
  for (const [name, { targets = [], swap = {} } = {}] of Object.entries(file.upstreams ?? {})) {
    const { to = [], steps = [], methods, every, for: hold } = swap
    const at = ['upstreams', name, 'swap']
    for (const [i, step] of steps.entries()) {
      const before = steps[i - 1]
      if (step === undefined || before === undefined) continue
      if (percentIn(step) > percentIn(before)) continue
      yield mistake([...at, 'steps', i], `must be above the step before, which is ${before}`)
    }
    if (every !== undefined && hold !== undefined) {
      yield mistake([...at, 'for'], 'is the same setting as every: write one of them')
    }
    yield* methodRemarks([...at, 'methods'], methods, quote)
    const present = targets.map((target) => target?.url && originOf(target.url))
    for (const [i, target] of to.entries()) {
      const origin = target?.url && originOf(target.url)
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

/** Warns of backends that get callers' cookies: those of one host are no secret to any of them. */
export function* cookieRemarks({ file }: Checked): Generator<Remark> {
  const names = Object.entries(file.upstreams ?? {}).flatMap(([name, upstream]) =>
    upstream?.forward?.cookies === 'on' ? [name] : [],
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
export function* headerRemarks({ file }: Checked): Generator<Remark> {
  for (const [upstream, written] of Object.entries(file.upstreams ?? {})) {
    const at = ['upstreams', upstream, 'forward', 'headers']
    const headers = Object.entries(written?.forward?.headers ?? {})
    if (headers.length > mostHeaders) {
      yield mistake(at, `must be at most ${mostHeaders} headers, got ${headers.length}`)
    }
    const places = new Map<string, string>()
    for (const [name, sent = ''] of headers) {
      if (!isOf(headerName, name)) continue
      const path = [...at, name]
      const spelled = plainName(name)
      const other = places.get(spelled)
      if (ownHeaders.has(spelled) || ownFamilies.test(spelled)) {
        yield mistake(path, 'is a header that only the gateway may send')
      } else if (other !== undefined) {
        yield mistake(path, `is ${other} as well: servers may take both for one`)
      } else places.set(spelled, name)
      if (!isMasked(path, sent) && (unsendable.test(sent) || sent.trim() !== sent)) {
        yield mistake(path, 'has a character that no header can have, or a space at an end')
      }
    }
  }
}

/** Warns of upstreams that no route names: their author most likely believes them to be in use. */
export function* unusedRemarks({ file, entries }: Checked): Generator<Remark> {
  const used = entries?.map(({ upstream }) => upstream)
  if (!used || used.includes(undefined)) return
  for (const name of Object.keys(file.upstreams ?? {})) {
    if (!used.includes(name)) yield warning(['upstreams', name], 'isn’t used by any route')
  }
}
