import type { Config, UpstreamSettings } from '../../../front/config/config.ts'
import { isTargetUrl, targetForm } from '../../../front/forwarding/target-url.ts'
import { ofText } from '../kinds.ts'
import { WrongInput } from '../operation.ts'
import { argument, textOf, valueOf } from '../parameters.ts'

const targetUrl = ofText(targetForm, (text) => (isTargetUrl(text) ? text : undefined))

/** A would-be backend, and the upstream that it would be of. */
export const wouldBe = {
  url: { ...valueOf(targetUrl, 'URL', 'the address of the new backend'), ...argument },
  upstream: textOf('NAME', 'the upstream, if there are several'),
} as const

/** The named upstream, or the only one. */
export function chosenUpstream({ upstreams }: Config, named: string | undefined): UpstreamSettings {
  const names = [...upstreams.keys()]
  const name = named ?? (names.length === 1 ? names[0] : undefined)
  if (name === undefined) throw new WrongInput(`upstream must be one of ${names.join(', ')}`)
  const upstream = upstreams.get(name)
  if (upstream) return upstream
  throw new WrongInput(`there is no upstream "${name}"; there are ${names.join(', ')}`)
}
