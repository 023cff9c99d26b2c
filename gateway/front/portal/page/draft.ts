import { pretty, section, text, type Section } from './json.ts'
import type { Openapi, Operation } from './openapi.ts'
import type { Draft } from './request.ts'
import { givenSample, sampleOf } from './sample.ts'

/** The values of a form's fields, by the places of the parameters. */
export type Values = readonly string[]

/** A body that can be sent. */
export type Body = Readonly<{ type: string; text: string }>

/** The values to begin with: required parameters have an example, all others are empty. */
export function firstValues(openapi: Openapi, { parameters }: Operation): Values {
  return parameters.map((parameter) => {
    if (parameter['required'] !== true) return ''
    const sample = givenSample(parameter) ?? sampleOf(openapi, parameter['schema'])
    return typeof sample === 'string' ? sample : JSON.stringify(sample ?? '')
  })
}

/** The bodies to begin with, one for each type. */
export function bodyChoices(openapi: Openapi, { body }: Operation): readonly Body[] {
  return Object.entries(section(body?.['content'])).map(([type, value]) => {
    const media = openapi.resolve(value)
    const sample = givenSample(media) ?? sampleOf(openapi, media['schema'] ?? media['itemSchema'])
    return { type, text: typeof sample === 'string' ? sample : pretty(sample) }
  })
}

/** Whether a browser lets a page send a parameter. The name of a header is a token: curl reads a file for one with @. */
export function canSend({ in: place, name }: Section): boolean {
  if (place === 'header') return /^[\w!#$%&'*+.^`|~-]+$/.test(text(name) ?? '')
  return place !== 'cookie'
}

export function draftOf(
  openapi: Openapi,
  { method, path, parameters }: Operation,
  values: Values,
  body: Body | undefined,
): Draft {
  const query: string[] = []
  const headers: Record<string, string> = {}
  let filled = path
  for (const [i, parameter] of parameters.entries()) {
    const [name, value] = [text(parameter['name']) ?? '', values[i] ?? '']
    const place = parameter['in']
    if (place === 'path') filled = filled.replace(`{${name}}`, () => encodeURIComponent(value))
    else if (value === '') continue
    else if (place === 'query')
      query.push(`${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    // All of the query, as it is sent.
    else if (place === 'querystring') query.push(value.replace(/^\?/, ''))
    else if (place === 'header' && canSend(parameter)) headers[name] = value
  }
  if (body) headers['Content-Type'] = body.type
  const search = query.length > 0 ? `?${query.join('&')}` : ''
  return {
    method,
    path: `${openapi.root}${filled}${search}`,
    headers,
    body: body?.text,
  }
}
