import { isAlias, parseDocument } from 'yaml'
import * as prettier from 'prettier'
import { isInPath, parametersAt, withoutPath } from '../../gateway/office/admin/given.ts'
import { operations } from '../../gateway/office/operations/all.ts'
import { bodySchema, plainParameters } from '../../gateway/office/operations/members.ts'

const parametersPlace = ['components', 'parameters']
const refusals = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  default: 'Unread',
}

/**
 * The document of the admin API with what the table of operations knows: their endpoints, commands, roles, parameters and, of
 * new ones, bodies and refusals. Descriptions, examples and answers are written by hand, and stay.
 */
export async function apiDocument(text) {
  const document = parseDocument(text)
  const served = operations.filter((operation) => 'at' in operation)
  for (const operation of served)
    for (const at of operation.at) bringUpToDate(document, operation, at)
  return prettier.format(document.toString({ lineWidth: 0 }), {
    parser: 'yaml',
    singleQuote: true,
    printWidth: 100,
  })
}

function bringUpToDate(document, operation, at) {
  const [method, path] = at.split(' ')
  const place = ['paths', path, method.toLowerCase()]
  const parameters = parametersAt(at, operation.parameters)
  if (!document.hasIn(place))
    document.setIn(place, document.createNode(begun(operation, path, method, parameters)))
  const head = ['paths', path, 'head']
  for (const each of method === 'GET' && document.hasIn(head) ? [place, head] : [place]) {
    document.setIn([...each, 'x-command'], operation.name)
    document.setIn([...each, 'x-role'], operation.role)
    addParameters(document, each, queried(parameters, path, method))
  }
}

/** The parameters in a query: others are members of a body. */
function queried(parameters, path, method) {
  const isText = Object.values(parameters).some((parameter) => 'types' in parameter)
  if (!['GET', 'DELETE'].includes(method) && !isText) return []
  return plainParameters(parameters).filter(([name]) => !isInPath(name, path, parameters))
}

/** Adds parameters that the document lacks, as references, and takes those away that there aren't any more. */
function addParameters(document, place, wanted) {
  const list = document.getIn([...place, 'parameters'])
  if (isAlias(list)) return
  const named = (item) =>
    document.getIn([...parametersPlace, item.get('$ref')?.split('/').at(-1)]) ?? item
  const items = list?.items ?? []
  const kept = items.filter((item) => {
    const each = named(item)
    return each.get('in') !== 'query' || wanted.some(([name]) => name === each.get('name'))
  })
  const names = new Set(kept.map((item) => named(item).get('name')))
  const missing = wanted.filter(([name]) => !names.has(name))
  const all = [...kept, ...missing.map((one) => document.createNode(reference(document, one)))]
  // It keeps its anchor, by which HEAD has the same.
  if (list) list.items = all
  else if (all.length > 0) document.setIn([...place, 'parameters'], document.createNode(all))
}

/** A reference to the parameter with this name and form, which is made if there is none. */
function reference(document, [name, { kind, help }]) {
  const { type, minimum, maximum } = kind.schema
  const same = document.getIn(parametersPlace).items.find(({ value }) => {
    const { in: at, name: other, schema = {} } = value.toJSON()
    return (
      at === 'query' &&
      other === name &&
      schema.type === type &&
      schema.minimum === minimum &&
      schema.maximum === maximum
    )
  })
  const called = same?.key.value ?? name
  if (!same) {
    const schema = { type, minimum, maximum }
    const made = document.createNode({ name, in: 'query', description: help, schema })
    document.setIn([...parametersPlace, called], made)
  }
  return { $ref: `#/components/parameters/${called}` }
}

/** The beginning of an operation that the document lacks. */
function begun({ name, summary, isSilent }, path, method, parameters) {
  const members = withoutPath(parameters, path)
  const hasBody = !['GET', 'DELETE'].includes(method) && Object.keys(members).length > 0
  const schema = hasBody && JSON.parse(JSON.stringify(bodySchema(members)))
  return {
    operationId: name.replace(/[ -]+(\w)/g, (_, letter) => letter.toUpperCase()),
    ...{ summary, tags: [name.split(' ')[0]] },
    ...(path.includes('{id}') ? { parameters: [{ $ref: '#/components/parameters/id' }] } : {}),
    ...(schema
      ? { requestBody: { required: true, content: { 'application/json': { schema } } } }
      : {}),
    responses: {
      [isSilent ? 204 : 200]: { description: summary },
      ...Object.fromEntries(
        Object.entries(refusals).map(([status, called]) => [
          status,
          { $ref: `#/components/responses/${called}` },
        ]),
      ),
    },
  }
}
