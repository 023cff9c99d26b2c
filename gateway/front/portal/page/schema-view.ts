import { html, type Child } from '../../http/page/html.ts'
import { inline, list, section, text, type Section } from '../../http/page/sections.ts'
import { schemaId, schemaName, type Openapi } from './openapi.ts'
import { line, prose } from './prose.ts'

/** How deep schemas are shown within each other; deeper ones lead in circles. */
const deepest = 12

/** A schema with all its members. Those of the components are shown once, at their own place; others lead there. */
export function schemaView(openapi: Openapi, value: unknown, depth = 0): Child {
  if (value === true || value === undefined) return html`<span class="type">anything</span>`
  if (value === false) return html`<span class="type">nothing</span>`
  const name = schemaName(value)
  const own = html`<a class="type" href=${`#${schemaId(name ?? '')}`}>${name}</a>`
  const beside = line(text(section(value)['description']))
  if (name !== undefined) return beside ? html`${own} ${beside}` : own
  if (depth > deepest) return html`<span class="type">…</span>`
  const schema = openapi.resolve(value)
  return html`
    <span class="type">${typeText(schema)}</span>
    ${rulesOf(schema).map((rule) => html` <span class="rule">${rule}</span>`)}
    ${prose(text(schema['description']))} ${parts(openapi, schema, depth + 1)}
  `
}

function parts(openapi: Openapi, schema: Section, depth: number): Child {
  const show = (value: unknown): Child => schemaView(openapi, value, depth)
  const { items, additionalProperties: others, not } = schema
  return html`
    ${members(openapi, schema, depth)}
    ${items !== undefined && html`<div class="content">Each: ${show(items)}</div>`}
    ${list(schema['prefixItems']).map((each, i) => html`<div class="content">At ${i}: ${show(each)}</div>`)}
    ${
      others === false
        ? html`<div class="content quiet">No other members.</div>`
        : others !== undefined &&
          others !== true &&
          html`<div class="content">Other members: ${show(others)}</div>`
    }
    ${Object.entries(section(schema['patternProperties'])).map(
      ([pattern, member]) =>
        html`<div class="content">Members like <code>${pattern}</code>: ${show(member)}</div>`,
    )}
    ${(['allOf', 'oneOf', 'anyOf'] as const).map((word) => choices(word, list(schema[word]), show))}
    ${not !== undefined && html`<div class="content">Not: ${show(not)}</div>`}
  `
}

function members(openapi: Openapi, schema: Section, depth: number): Child {
  const all = Object.entries(section(schema['properties']))
  if (all.length === 0) return null
  const required = list(schema['required'])
  return html`
    <ul class="members">
      ${all.map(
        ([name, member]) => html`
          <li data-member=${name}>
            <code>${name}</code>
            ${required.includes(name) && html` <span class="required">required</span>`}
            ${' '}${schemaView(openapi, member, depth)}
          </li>
        `,
      )}
    </ul>
  `
}

const wordsFor = { allOf: 'All of:', oneOf: 'One of:', anyOf: 'Any of:' }

function choices(
  word: keyof typeof wordsFor,
  all: readonly unknown[],
  show: (value: unknown) => Child,
): Child {
  if (all.length === 0) return null
  return html`
    <div class="content">
      ${wordsFor[word]}
      <ul class="members">
        ${all.map((each) => html`<li>${show(each)}</li>`)}
      </ul>
    </div>
  `
}

/** The type of a schema in words. */
function typeText({
  type,
  format,
  nullable,
  items,
  properties,
  allOf,
  oneOf,
  anyOf,
}: Section): string {
  const types = [type].flat().flatMap((each) => text(each) ?? [])
  const guessed = properties !== undefined ? 'object' : items !== undefined ? 'array' : undefined
  const isMixed = [allOf, oneOf, anyOf].some((each) => each !== undefined)
  const named = types.length > 0 ? types : [guessed ?? (isMixed ? 'value' : 'anything')]
  const all = nullable === true ? [...named, 'null'] : named
  return `${all.join(' or ')}${text(format) === undefined ? '' : ` (${text(format)})`}`
}

const numberRules: readonly (readonly [name: string, words: string])[] = [
  ['minimum', 'from'],
  ['exclusiveMinimum', 'above'],
  ['maximum', 'to'],
  ['exclusiveMaximum', 'below'],
  ['multipleOf', 'a multiple of'],
  ['minLength', 'characters from'],
  ['maxLength', 'characters to'],
  ['minItems', 'items from'],
  ['maxItems', 'items to'],
  ['minProperties', 'members from'],
  ['maxProperties', 'members to'],
]

/** The other rules of a schema, each in a few words. */
function rulesOf(schema: Section): string[] {
  const { pattern, uniqueItems, readOnly, writeOnly, deprecated } = schema
  const values = list(schema['enum']).map(inline)
  return [
    ...(values.length > 0 ? [`one of ${values.join(', ')}`] : []),
    ...('const' in schema ? [`always ${inline(schema['const'])}`] : []),
    ...numberRules.flatMap(([name, words]) =>
      typeof schema[name] === 'number' ? [`${words} ${schema[name]}`] : [],
    ),
    ...(text(pattern) === undefined ? [] : [`like ${text(pattern)}`]),
    ...(uniqueItems === true ? ['unique items'] : []),
    ...('default' in schema ? [`default ${inline(schema['default'])}`] : []),
    ...(readOnly === true ? ['only in answers'] : []),
    ...(writeOnly === true ? ['only in requests'] : []),
    ...(deprecated === true ? ['deprecated'] : []),
  ]
}
