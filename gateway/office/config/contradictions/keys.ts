import { isWithheld } from '../../../front/forwarding/withheld-headers.ts'
import { authorization } from '../../../front/http/key-header.ts'
import { mistake, type Checked, type Remark } from './remarks.ts'

/** Headers of HTTP, browsers and traces; the gateway's own and those of proxies are never forwarded. */
const needed = new RegExp(
  `^(?:${[
    '(?:accept|access-control|content|if|sec|signature|want|x-b3)-.*',
    'accept|range|cache-control|pragma|date|from|via|max-forwards|warning|early-data|prefer|priority',
    'origin|referer|user-agent|upgrade-insecure-requests|dnt|last-event-id|idempotency-key',
    'signature|digest|repr-digest|traceparent|tracestate|baggage|b3',
  ].join('|')})$`,
)

/** Keys come in headers that nothing else needs, each named once. */
export function* keyHeaderRemarks({ file, quote }: Checked): Generator<Remark> {
  const places = new Map<string, number>()
  for (const [i, each] of (file.keys?.from ?? []).entries()) {
    if (each === undefined) continue
    const name = each.toLowerCase()
    const setting = ['keys', 'from', i] as const
    const other = places.get(name)
    if (name !== authorization && (needed.test(name) || isWithheld(name))) {
      yield mistake(setting, `is a header that HTTP or the gateway needs itself: ${quote(setting)}`)
    } else if (other !== undefined) {
      yield mistake(setting, `is keys.from[${other}] as well: ${quote(setting)}`)
    } else places.set(name, i)
  }
}
