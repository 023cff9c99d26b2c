import type { AdminAddress } from '../../front/config/config.ts'
import { andMore } from '../../../shared/and-more.ts'
import { asError } from '../../../shared/as-error.ts'
import { timeText } from '../../../shared/times.ts'
import { ConfigError } from './config-error.ts'
import { section } from '../../front/http/page/sections.ts'
import { ConfigDocument } from './document.ts'
import { loadedFrom, type Loaded } from './load.ts'
import type { Environment } from './variables.ts'

type Settings = Record<string, unknown>

/** The sections that lead a command to its gateway and its store. */
const leading = ['name', 'admin', 'store']

/** The sections that no configuration may lack. */
const needed: Settings = {
  plans: { none: 'custom' },
  upstreams: { any: { targets: ['http://127.0.0.1:9'] } },
  routes: [{ path: '/*', upstream: 'any' }],
}

/** The configuration in force in a gateway, as it answers. */
type Running = Readonly<{ config: Settings; loadedAt: string }>

/** A file with mistakes. */
type Source = Readonly<{ text: string; environment: Environment; name: string; error: ConfigError }>

/** A configuration to go on with, and a line about the mistakes. */
export type Salvaged = Awaited<ReturnType<typeof salvaged>>

/**
 * The configuration for a command while the file has mistakes: the one in force, with the file's way to the gateway
 * and to the store. If the gateway doesn't tell, the members of the file that can be used. No other store takes the place of
 * one that can't be read: the file's is taken only where it is the gateway's, or where it was read whole.
 */
export async function salvaged(source: Source, ask: (address: AdminAddress) => Promise<Running>) {
  const { error, text, environment } = source
  const document = new ConfigDocument(text, environment)
  const written = section(document.written())
  const led = Object.fromEntries(Object.entries(written).filter(([name]) => leading.includes(name)))
  const { config, shown } = usableOf(led, source)
  let why = ''
  const running = await ask(config.admin).catch((error: unknown) => {
    why = asError(error).message.replace(/\.$/, '')
    return undefined
  })
  const isItsStore = JSON.stringify(shown.store) === JSON.stringify(running?.config['store'])
  if (running && !isItsStore) delete led['store']
  const settings = running ? { ...running.config, ...led } : written
  const usable = usableOf(settings, source)
  const [first, ...others] = error.mistakes
  const more = others.length + error.more
  const on = running
    ? `the gateway goes on with what it read at ${timeText(Date.parse(running.loadedAt))}`
    : `this goes by the valid part of the file (${why})`
  // No plan stands in for those that can't be read.
  const plans = 'plans' in settings ? usable.config.plans : new Map()
  return {
    loaded: { ...usable, config: { ...usable.config, plans } },
    line: `${[first, ...(more > 0 ? [andMore(more)] : [])].join(', ')}: ${on}`,
    /** Whether it has the store of the file: a mistake may have hidden that. */
    hasStore: 'store' in settings && (running !== undefined || document.isSound),
  }
}

/** A configuration of the settings that can be used. Takes the others away: a section, or the member of it that is wrong. */
function usableOf(settings: Settings, { environment, name, error }: Source): Loaded {
  for (;;) {
    try {
      return loadedFrom(JSON.stringify({ ...needed, ...settings }), environment, name, 'command')
    } catch (thrown) {
      if (!(thrown instanceof ConfigError)) throw thrown
      const wrong = thrown.findings.filter(({ isWarning }) => !isWarning)
      if (!wrong.some(({ place }) => isTaken(settings, place))) throw error
    }
  }
}

function isTaken(settings: Settings, place: string): boolean {
  const [name = '', member = ''] = place.split(/[.[\]]+/)
  if (!Object.hasOwn(settings, name)) return false
  const { [member]: wrong, ...others } = section(settings[name])
  if (wrong === undefined || leading.includes(name)) delete settings[name]
  else settings[name] = others
  return true
}
