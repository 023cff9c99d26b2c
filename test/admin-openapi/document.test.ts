import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { parse, parseDocument } from 'yaml'
import { isInPath, parametersAt, withoutPath } from '../../gateway/office/admin/given.ts'
import { operations as table } from '../../gateway/office/operations/all.ts'
import { bodySchema, plainParameters } from '../../gateway/office/operations/members.ts'
import { file, guarded, operations } from '../support/admin-contract.ts'
import { startAdmin } from '../support/admin.ts'
import { operationLines, type Parameter } from '../support/openapi-document.ts'
import { lintFaults } from '../support/openapi-lint.ts'
import { root } from '../support/process.ts'

t.test('the document is sound by itself', async (t) => {
  t.strictSame(await lintFaults(file), [])
})

t.test('its operations are the routes of the admin address', async (t) => {
  const { admin } = await startAdmin(t)
  const documented = operations.map(({ method, path }) => `${method} ${path}`)
  t.strictSame(
    operationLines(file).map(({ method, path }) => `${method} ${path}`),
    documented,
    'its lines tell the same',
  )
  const routes = routesIn(admin.printRoutes({ commonPrefix: false }))
  // The files of the console's page have other paths in each version, and only the page asks for them.
  const lasting = routes.filter((route) => !/ \/console\/[0-9a-f]{16}\//.test(route))
  t.ok(lasting.length < routes.length, 'the page has files')
  t.strictSame(lasting.sort(), documented.sort())
})

t.test('npm run schema leaves it as it is, and puts in the commands and the roles', async (t) => {
  const { apiDocument } = (await import(
    pathToFileURL(join(root, 'config/scripts/openapi.mjs')).href
  )) as { apiDocument: (text: string) => Promise<string> }
  const text = readFileSync(file, 'utf8')
  t.equal(await apiDocument(text), text, 'else run: npm run schema')
  const document = parseDocument(text)
  document.setIn(['paths', '/admin/keys', 'get', 'x-role'], 'support')
  const again = parse(await apiDocument(String(document))) as {
    paths: Record<string, Record<string, object>>
  }
  t.match(again.paths['/admin/keys']?.['get'], { 'x-command': 'keys list', 'x-role': 'read' })
})

t.test('it is the table of operations, to the last parameter', (t) => {
  const served = table.filter((each) => 'at' in each)
  const endpoints = served.flatMap((operation) => operation.at.map((at) => ({ at, operation })))
  const documented = guarded.filter(({ method }) => method !== 'HEAD')
  t.strictSame(
    documented.map(({ method, path }) => `${method} ${path}`).sort(),
    endpoints.map(({ at }) => at).sort(),
    'write each endpoint of the table of operations into config/openapi/admin.yaml, and no other',
  )
  for (const { at, operation } of endpoints) {
    const [method = '', path = ''] = at.split(' ')
    const { name, role } = operation
    const parameters = parametersAt(at, operation.parameters)
    for (const each of guarded.filter((each) => each.path === path)) {
      const isHead = method === 'GET' && each.method === 'HEAD'
      if (each.method !== method && !isHead) continue
      t.strictSame([each.command, each.role], [name, role], `${each.method} ${path}`)
      const plain = plainParameters(parameters).filter(
        ([name]) => !isInPath(name, path, parameters),
      )
      const inPath = each.parameters.filter(({ in: place }) => place === 'path')
      t.equal(inPath.length, path.includes('{') ? 1 : 0, `${at}: its key`)
      const query = each.parameters.filter(({ in: place }) => place === 'query')
      const whole = Object.values(parameters).find((parameter) => 'types' in parameter)
      const asked = ['GET', 'DELETE'].includes(method) || whole ? plain : []
      t.strictSame(query.map(plainly).sort(), asked.map(documentedAs).sort(), `${at}: its query`)
      const types = whole?.types ?? (asked.length < plain.length ? ['application/json'] : [])
      t.strictSame(Object.keys(each.content), [...types], `${at}: its media types`)
      if (whole || types.length === 0) continue
      const { schema = {} } = each.content['application/json'] ?? {}
      t.strictSame(
        shapeOf(schema),
        shapeOf(bodySchema(withoutPath(parameters, path))),
        `${at}: its body`,
      )
    }
  }
  const here = table.flatMap((each) => (each.where === 'command line' ? [each] : []))
  for (const { name, because } of here) t.ok(because.length > 20, `${name} says why`)
  t.end()
})

/** A parameter of a query as a line: its name, and what it may be. */
function plainly({ name, schema: { type, minimum, maximum } }: Parameter): string {
  return JSON.stringify([name, type, minimum, maximum])
}

function documentedAs([name, { kind }]: ReturnType<typeof plainParameters>[number]): string {
  const { type, minimum, maximum } = kind.schema as Parameter['schema']
  return JSON.stringify([name, type, minimum, maximum])
}

type Shape = Readonly<{ [member: string]: Shape }>

/** The members of a body: with `!` if one must be there, with `?` if `null` takes it away. */
function shapeOf(schema: object): Shape {
  const { properties, required = [] } = [schema, ...choicesIn(schema)].find(hasMembers) ?? {}
  return Object.fromEntries(
    Object.entries(properties ?? {})
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => {
        const isNeeded = required.includes(name) ? '!' : ''
        return [name + isNeeded + (takesNull(member) ? '?' : ''), shapeOf(member)]
      }),
  )
}

function hasMembers(
  schema: object,
): schema is { properties: Record<string, object>; required?: readonly string[] } {
  return 'properties' in schema
}

function takesNull(schema: object): boolean {
  const types = [schema, ...choicesIn(schema)].map((each) => Reflect.get(each, 'type') as unknown)
  return types.flat().includes('null')
}

function choicesIn(schema: object): readonly object[] {
  const { anyOf, oneOf } = schema as { anyOf?: readonly object[]; oneOf?: readonly object[] }
  return anyOf ?? oneOf ?? []
}

/** The routes of a tree such as Fastify prints, with their parameters as a document has them. */
function routesIn(tree: string): string[] {
  const above: string[] = []
  return [...tree.matchAll(/^(.*)── (\S+) \((.+)\)$/gm)].flatMap(
    ([, indent = '', part = '', methods = '']) => {
      const depth = Math.floor(indent.length / 4)
      const path = (above[depth - 1] ?? '') + part.replace(/:(\w+)/g, '{$1}')
      above[depth] = path
      return methods.split(', ').map((method) => `${method} ${path}`)
    },
  )
}
