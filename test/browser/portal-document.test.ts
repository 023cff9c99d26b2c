import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { startBrowser } from '../support/browser.ts'
import {
  enterKey,
  section,
  startPages,
  unfold,
  visit,
  type Section,
} from '../support/portal-page.ts'
import { root } from '../support/process.ts'
import { until } from '../support/until.ts'

const { test } = await startBrowser(t)

/** The members of a schema and of all that it contains, without those behind references to the components. */
function membersOf(document: Section, value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const at = section(value)
  const { $ref } = at
  if (typeof $ref === 'string') {
    return $ref.startsWith('#/components/schemas/')
      ? []
      : membersOf(document, targetOf(document, $ref))
  }
  const own = Object.entries(section(at['properties'])).flatMap(([name, each]) => [
    name,
    ...membersOf(document, each),
  ])
  const inner = ['items', 'additionalProperties', 'not'].map((name) => at[name])
  const lists = ['allOf', 'oneOf', 'anyOf', 'prefixItems'].flatMap(
    (name) => (at[name] ?? []) as unknown[],
  )
  return [...own, ...[...inner, ...lists].flatMap((each) => membersOf(document, each))]
}

function targetOf(document: Section, reference: string): Section {
  const steps = reference
    .slice(2)
    .split('/')
    .map((step) => step.replaceAll('~1', '/'))
  return steps.reduce((at, step) => section(at[step]), document)
}

/** All that a document has, and all that a page shows, in the same form. */
function contentsOf(document: Section) {
  const resolve = (value: unknown): Section => {
    const { $ref } = section(value)
    return typeof $ref === 'string' ? resolve(targetOf(document, $ref)) : section(value)
  }
  const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']
  const operations = Object.entries(section(document['paths'])).flatMap(([path, item]) =>
    methods
      .filter((method) => section(item)[method])
      .map((method) => {
        const operation = section(section(item)[method])
        const parameters = [section(item)['parameters'] ?? [], operation['parameters'] ?? []]
          .flat()
          .map((each) => resolve(each))
        const responses = Object.entries(section(operation['responses'])).map(
          ([status, each]) => [status, resolve(each)] as const,
        )
        const contents = [resolve(operation['requestBody']), ...responses.map(([, each]) => each)]
        const schemas = contents.flatMap(({ content }) =>
          Object.values(section(content)).map((media) => section(media)['schema']),
        )
        return {
          operation: `${method.toUpperCase()} ${path}`,
          parameters: parameters.map(({ in: place, name }) => `${String(place)} ${String(name)}`),
          statuses: responses.map(([status]) => status),
          headers: responses.flatMap(([, { headers }]) => Object.keys(section(headers))),
          members: [...schemas, ...parameters.map(({ schema }) => schema)].flatMap((schema) =>
            membersOf(document, schema),
          ),
        }
      }),
  )
  const schemas = Object.entries(section(section(document['components'])['schemas']))
  return {
    operations,
    schemas: schemas.map(([name, schema]) => ({ name, members: membersOf(document, schema) })),
  }
}

/** Reads the same from the page. */
const shown = `(() => {
  // HEAD stands in GET; refusals that most operations have stand at one place, to which each leads.
  const own = (at, name) => [...at.querySelectorAll(name)].filter((each) => each.parentElement.closest('[data-operation], [data-schema]') === at)
  const shared = (at) => own(at, '.shared > a').map((link) => document.getElementById(link.hash.slice(1)))
  const all = (at, name) => [...own(at, '[data-' + name + ']'),
    ...shared(at).flatMap((each) => [each, ...each.querySelectorAll('[data-' + name + ']')])]
    .flatMap((each) => each.dataset[name] ?? [])
  return {
    operations: [...document.querySelectorAll('[data-operation]')].map((at) => ({
      operation: at.dataset.operation,
      parameters: all(at, 'parameter'),
      statuses: all(at, 'status'),
      headers: all(at, 'header'),
      members: all(at, 'member'),
    })),
    schemas: [...document.querySelectorAll('[data-schema]')].map((at) => ({
      name: at.dataset.schema,
      members: all(at, 'member'),
    })),
  }
})()`

/** The same in one order, whatever the order of the operations on the page. */
function sorted({ operations, schemas }: ReturnType<typeof contentsOf>) {
  const inOrder = (names: readonly string[]): string[] => [...names].sort()
  return {
    operations: operations
      .map((each) => ({
        ...each,
        statuses: inOrder(each.statuses),
        headers: inOrder(each.headers),
        members: inOrder(each.members),
      }))
      .sort((one, other) => (one.operation < other.operation ? -1 : 1)),
    schemas: schemas.map(({ name, members }) => ({ name, members: inOrder(members) })),
  }
}

for (const name of ['animal-store', 'admin']) {
  test(`everything of ${name}.yaml is on the page`, async (t, open) => {
    const text = readFileSync(join(root, `config/openapi/${name}.yaml`), 'utf8')
    const { url } = await startPages(t, { text, more: 'tickets: on' })
    const page = await visit(open, url)
    const served = (await (await fetch(`${url}/docs/openapi.json`)).json()) as Section
    const [own, expected] = [parse(text) as Section, served].map(contentsOf)
    if (!own || !expected) return
    t.ok(expected.operations.length > own.operations.length && own.operations.length > 10)
    t.ok(expected.schemas.some(({ members }) => members.length > 3))
    await until(
      async () =>
        (await page.locator('[data-operation] form').count()) === expected.operations.length,
    )
    const seen = await page.evaluate<ReturnType<typeof contentsOf>>(shown)
    t.strictSame(sorted(seen), sorted(expected))
  })
}

test('OpenAPI 3.2: query and additionalOperations are shown, and sent as they are', async (t, open) => {
  const text = `
openapi: 3.2.0
info: { title: Search, version: '1' }
paths:
  /v1/pets:
    get: { responses: { '200': { summary: All } } }
    query:
      summary: Search for pets
      parameters: [ { name: all, in: querystring, content: {} } ]
      requestBody:
        content: { application/json: { $ref: '#/components/mediaTypes/Asked' } }
      responses:
        '200':
          summary: Those that fit
          content: { application/jsonl: { itemSchema: { properties: { petName: { type: string } } } } }
    additionalOperations:
      PURGE: { responses: { '204': { description: Done } } }
components:
  mediaTypes:
    Asked:
      schema: { properties: { status: { type: string } } }
      examples: { sold: { dataValue: { status: sold } } }
`
  const gateway = await startPages(t, { text })
  const { token } = await gateway.key()
  const page = await visit(open, gateway.url, { expected: /^405 QUERY / })
  const { operations } = await page.evaluate<ReturnType<typeof contentsOf>>(shown)
  t.strictSame(
    operations.map(({ operation }) => operation),
    [
      ...['GET /v1/pets', 'QUERY /v1/pets', 'PURGE /v1/pets'],
      ...['GET /v1/quota', 'GET /v1/usage'],
    ],
  )
  await enterKey(page, token)
  const place = await unfold(page, 'QUERY /v1/pets')
  await place.getByText('Those that fit').waitFor()
  t.equal(await place.locator('[data-member=petName]').count(), 1)
  await place.getByLabel('all').fill('limit=1&x=%20')
  const curl = await place.locator('.sample pre').innerText()
  t.match(curl, `curl -i -X QUERY '${gateway.url}/v1/pets?limit=1&x=%20'`)
  t.match(curl, /--data-raw '\{\n {2}"status": "sold"\n\}'/)
  t.notMatch(await place.innerText(), 'changes real data')
  await place.getByRole('button', { name: 'Send' }).click()
  await place.getByText('405 Method Not Allowed').waitFor()
  await place.getByText('GET, HEAD, POST', { exact: false }).first().waitFor()
})
