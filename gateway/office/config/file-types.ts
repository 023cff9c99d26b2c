import { descriptions } from './descriptions.ts'
import { fileSchema } from './schema.ts'

type Rule = Readonly<Record<string, unknown>>

/** The type names of the file's sections, by setting; a setting that takes one of several sections has several. */
const names: Readonly<Record<string, readonly string[]>> = {
  '': ['ConfigFile'],
  listen: ['ListenSettings'],
  admin: ['AdminSettings'],
  store: ['StoreSettings'],
  'store.redis': ['RedisCluster', 'RedisSentinels'],
  'store.redis.tls': ['RedisTls'],
  'plans.NAME': ['PlanSettings', 'CustomPlan'],
  'plans.NAME.shadow': ['ShadowLimits'],
  strangers: ['StrangerLimits'],
  bans: ['BanSettings'],
  keys: ['KeySettings'],
  quota: ['QuotaSettings'],
  usage: ['UsageSettings'],
  portal: ['PortalSettings'],
  headers: ['HeaderSettings'],
  'upstreams.NAME': ['UpstreamSettings'],
  'upstreams.NAME.targets[]': ['WeightedTarget'],
  'upstreams.NAME.swap': ['SwapSettings'],
  'upstreams.NAME.swap.to[]': ['WeightedTarget'],
  'upstreams.NAME.swap.back': ['SwapBackSettings'],
  'upstreams.NAME.timeout': ['UpstreamTimeouts'],
  'upstreams.NAME.health': ['HealthSettings'],
  'upstreams.NAME.tls': ['UpstreamTls'],
  'upstreams.NAME.probes[]': ['ProbeSettings'],
  'routes[]': ['RouteSettings'],
  'deprecations[]': ['DeprecationSettings'],
  'deprecations[].brownouts[]': ['BrownoutSettings'],
  'deprecations[].extensions[]': ['KeyExtension', 'AccountExtension'],
  'notices[]': ['NoticeSettings'],
  cors: ['CorsSettings'],
  traces: ['TraceSettings'],
}

/** The configuration file as TypeScript, one interface a section, for programs that write it as an object. */
export function fileTypes(): string {
  const types = new Types()
  types.typeOf(fileSchema, '')
  const head = '// Written by `npm run schema` from schema.ts and descriptions.ts.\n'
  return `${head}\n${[...types.written.values()].reverse().join('\n')}`
}

class Types {
  /** The interfaces, by name. */
  readonly written = new Map<string, string>()
  readonly #names = new Map<object, string>()
  /** The number of sections named so far, by setting. */
  readonly #counts = new Map<string, number>()

  typeOf(rule: unknown, setting: string): string {
    const { anyOf, type, items, properties, patternProperties } = asRule(rule)
    const { enum: words, const: word } = asRule(rule)
    if (Array.isArray(anyOf)) return anyOf.map((each) => this.typeOf(each, setting)).join(' | ')
    if (Array.isArray(words)) return words.map(literal).join(' | ')
    if (word !== undefined) return literal(word)
    if (type === 'array') return `readonly ${inBrackets(this.typeOf(items, `${setting}[]`))}[]`
    if (properties !== undefined) return this.#section(asRule(rule), setting)
    if (patternProperties !== undefined) {
      const [member] = Object.values(asRule(patternProperties))
      return `Readonly<Record<string, ${this.typeOf(member, inside(setting, 'NAME'))}>>`
    }
    return type === 'integer' ? 'number' : String(type)
  }

  #section(rule: Rule, setting: string): string {
    const earlier = this.#names.get(rule)
    if (earlier !== undefined) return earlier
    const nth = this.#counts.get(setting) ?? 0
    const name = names[setting]?.[nth]
    if (name === undefined) throw new Error(`the section ${setting} has no name as a type`)
    this.#names.set(rule, name)
    this.#counts.set(setting, nth + 1)
    const required = Array.isArray(rule['required']) ? rule['required'] : []
    const members = Object.entries(asRule(rule['properties'])).map(([member, its]) => {
      const at = inside(setting, member)
      const mark = required.includes(member) ? '' : '?'
      return `${comment(asRule(its), at, '  ')}  readonly ${member}${mark}: ${this.typeOf(its, at)}\n`
    })
    this.written.set(
      name,
      `${comment({}, setting, '')}export interface ${name} {\n${members.join('')}}\n`,
    )
    return name
  }
}

/** The comment of a setting: its purpose and its allowed values. */
function comment({ expected, type }: Rule, setting: string, indent: string): string {
  const isSingle = type !== 'object' && type !== 'array'
  const isTelling = isSingle && typeof expected === 'string' && expected !== 'a text'
  const sentences = [descriptions[setting], isTelling ? `Write ${expected}.` : undefined]
  const text = sentences.filter((each) => each !== undefined).join(' ')
  return text === '' ? '' : `${indent}/** ${text} */\n`
}

function inside(setting: string, name: string): string {
  return setting === '' ? name : `${setting}.${name}`
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
}

function inBrackets(type: string): string {
  return type.includes('|') ? `(${type})` : type
}

function asRule(value: unknown): Rule {
  return typeof value === 'object' && value !== null ? (value as Rule) : {}
}
