import { Ajv, type ValidateFunction } from 'ajv'
import { refine, type Check } from '../../shared/schema-check.ts'
import { isObject, mapped } from './openapi-document.ts'

/** Ajv as another checker of the schemas that `Type` makes, with the checks that JSON schemas have no word for. */
export function ajvCheckOf(schema: object): ValidateFunction {
  const ajv = new Ajv({ strict: false, strictNumbers: true })
  ajv.addKeyword({
    keyword: 'refined',
    // Only a value of the schema's type comes to the checks; Ajv asks all keywords.
    validate: (checks: readonly Check[], value: unknown, { type }: { type?: unknown } = {}) =>
      (type === 'string' && typeof value !== 'string') || checks.every((check) => check(value)),
  })
  return ajv.compile(withChecks(schema) as object)
}

function withChecks(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withChecks)
  if (!isObject(schema)) return schema
  const refined: unknown = Reflect.get(schema, refine)
  return { ...mapped(schema, withChecks), ...(refined === undefined ? {} : { refined }) }
}
