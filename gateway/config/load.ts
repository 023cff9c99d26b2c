import { readFileSync } from 'node:fs'
import { Compile } from 'typebox/compile'
import { parseDocument, isScalar, visit } from 'yaml'
import { pathExpression } from '../paths.ts'
import { configFrom, type Config } from './config.ts'
import { fileSchema } from './schema.ts'

/** A configuration that can't be used, with everything that is wrong with it, a line each. */
export class ConfigError extends Error {}

export type Environment = Readonly<Record<string, string | undefined>>

/** The file to read where none is named: what the environment says, else the one that is shipped. */
export function configFile(environment: Environment = process.env): string {
  return environment['TOLLGATE_CONFIG'] || 'config/gateway.yaml'
}

const check = Compile(fileSchema)

/** Reads, completes and checks a configuration file. Throws a `ConfigError` with all its mistakes. */
export function loadConfig(file: string, environment: Environment = process.env): Config {
  return parseConfig(read(file), environment, file)
}

/** The same for a text; `name` is what messages call it. */
export function parseConfig(text: string, environment: Environment, name: string): Config {
  const document = parseDocument(text)
  if (document.errors.length > 0) {
    throw new ConfigError(document.errors.map(({ message }) => `${name}: ${message}`).join('\n'))
  }
  visit(document, {
    Scalar(_key, node) {
      if (isScalar(node) && typeof node.value === 'string') {
        node.value = substitute(node.value, environment, node.type === 'PLAIN')
      }
    },
  })
  const value: unknown = document.toJS()
  if (!check.Check(value)) throw new ConfigError(mistakes(value, name).join('\n'))
  const config = configFrom(value)
  const contradictions = [...contradictionsOf(config)].map((sentence) => `${name}: ${sentence}`)
  if (contradictions.length > 0) throw new ConfigError(contradictions.join('\n'))
  return config
}

/** What no single setting has wrong, but several together. */
function* contradictionsOf({ routes, upstreams, deprecations }: Config): Generator<string> {
  const paths = new Set<string>()
  for (const { path, upstream, rewrite } of routes) {
    if (!upstreams.has(upstream))
      yield `the route ${path} leads to ${upstream}, which is no upstream`
    if (rewrite !== undefined && !path.endsWith('/*'))
      yield `the route ${path} is rewritten to ${rewrite}, so it must end in /* as well`
    if (paths.has(path)) yield `the route ${path} is there twice`
    paths.add(path)
  }
  for (const { operation } of deprecations) {
    const [method = '', path = ''] = operation.split(' ')
    const isCovered = routes.some(
      (route) => pathExpression(route.path).test(path) && (route.methods?.includes(method) ?? true),
    )
    if (!isCovered) yield `${operation} is deprecated, but no route leads to it`
  }
  for (const { operation, sinceMs, sunsetMs = Infinity, brownouts } of deprecations) {
    if (sunsetMs < sinceMs) yield `the sunset of ${operation} is before it is deprecated`
    for (const { fromMs, toMs } of brownouts) {
      if (toMs <= fromMs) yield `a brownout of ${operation} ends before it begins`
    }
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError(
      `the configuration can't be read: ${reason} (name one with --config or TOLLGATE_CONFIG)`,
      { cause: error },
    )
  }
}

function substitute(text: string, environment: Environment, plain: boolean): unknown {
  if (!text.includes('${')) return text
  const filled = text.replace(
    /\$\{(\w+)(?::-([^}]*))?\}/g,
    (_all, name: string, otherwise?: string) => {
      const value = environment[name]
      if (value !== undefined && value !== '') return value
      if (otherwise !== undefined) return otherwise
      throw new ConfigError(
        `the environment variable ${name} is not set, and the configuration needs it`,
      )
    },
  )
  return plain && /^\d{1,15}$/.test(filled) ? Number(filled) : filled
}

function mistakes(value: unknown, name: string): string[] {
  return check.Errors(value).flatMap((error) => {
    const place = error.instancePath.slice(1).replaceAll('/', '.') || 'the file'
    if (error.keyword === 'additionalProperties') {
      const { additionalProperties: unknown } = error.params
      return [`${name}: ${place} has the unknown setting ${unknown.join(', ')}`]
    }
    // Said of the unknown setting itself, which has been told already.
    return error.keyword === 'boolean' ? [] : [`${name}: ${place} ${error.message}`]
  })
}
