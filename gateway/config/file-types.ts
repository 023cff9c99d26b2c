import { descriptions } from './descriptions.ts'
import { fileSchema } from './schema.ts'

type Rule = Readonly<Record<string, unknown>>

/** What the sections of the file are called as types, by place; several may stand at one place. */
const names: Readonly<Record<string, readonly string[]>> = {
  '': ['ConfigFile'],
  listen: ['ListenSettings'],
  admin: ['AdminSettings'],
  store: ['StoreSettings'],
  'store.redis': ['RedisCluster', 'RedisSentinels'],
  'store.redis.tls': ['RedisTls'],
  'plans.NAME': ['PlanSettings', 'CustomPlan'],
  strangers: ['StrangerLimits'],
  bans: ['BanSettings'],
  keys: ['KeySettings'],
  quota: ['QuotaSettings'],
  headers: ['HeaderSettings'],
  'upstreams.NAME': ['UpstreamSettings'],
  'upstreams.NAME.targets[]': ['WeightedTarget'],
  'upstreams.NAME.timeout': ['UpstreamTimeouts'],
  'upstreams.NAME.health': ['HealthSettings'],
  'upstreams.NAME.tls': ['UpstreamTls'],
  'upstreams.NAME.probes[]': ['ProbeSettings'],
  'routes[]': ['RouteSettings'],
  'deprecations[]': ['DeprecationSettings'],
  'deprecations[].brownouts[]': ['BrownoutSettings'],
  cors: ['CorsSettings'],
}

/** The configuration file as TypeScript, for those who write it as an object: one interface a section. */
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
  readonly #taken = new Map<string, number>()

  typeOf(rule: unknown, place: string): string {
    const { anyOf, type, items, properties, patternProperties } = asRule(rule)
    const { enum: words, const: word } = asRule(rule)
    if (Array.isArray(anyOf)) return anyOf.map((each) => this.typeOf(each, place)).join(' | ')
    if (Array.isArray(words)) return words.map(literal).join(' | ')
    if (word !== undefined) return literal(word)
    if (type === 'array') return `readonly ${inBrackets(this.typeOf(items, `${place}[]`))}[]`
    if (properties !== undefined) return this.#section(asRule(rule), place)
    if (patternProperties !== undefined) {
      const [member] = Object.values(asRule(patternProperties))
      return `Readonly<Record<string, ${this.typeOf(member, inside(place, 'NAME'))}>>`
    }
    return type === 'integer' ? 'number' : String(type)
  }

  #section(rule: Rule, place: string): string {
    const known = this.#names.get(rule)
    if (known !== undefined) return known
    const nth = this.#taken.get(place) ?? 0
    const name = names[place]?.[nth]
    if (name === undefined) throw new Error(`the section ${place} has no name as a type`)
    this.#names.set(rule, name)
    this.#taken.set(place, nth + 1)
    const required = Array.isArray(rule['required']) ? rule['required'] : []
    const members = Object.entries(asRule(rule['properties'])).map(([member, its]) => {
      const at = inside(place, member)
      const mark = required.includes(member) ? '' : '?'
      return `${comment(asRule(its), at, '  ')}  readonly ${member}${mark}: ${this.typeOf(its, at)}\n`
    })
    this.written.set(
      name,
      `${comment({}, place, '')}export interface ${name} {\n${members.join('')}}\n`,
    )
    return name
  }
}

/** What a setting is for, and what may stand there. */
function comment({ expected, type }: Rule, place: string, indent: string): string {
  const isSaid = type !== 'object' && type !== 'array' && expected !== 'a text'
  const said = typeof expected === 'string' && isSaid
  const sentences = [descriptions[place], said ? `Write ${expected}.` : undefined]
  const text = sentences.filter((each) => each !== undefined).join(' ')
  return text === '' ? '' : `${indent}/** ${text} */\n`
}

function inside(place: string, name: string): string {
  return place === '' ? name : `${place}.${name}`
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
