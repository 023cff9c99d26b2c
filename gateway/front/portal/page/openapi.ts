import {
  operationsOf,
  stepOf,
  targetOf,
  list,
  section,
  text,
  type Section,
} from '../../http/page/sections.ts'

/** The methods that have a member of a path, in the order in which they are shown. Others come after them. */
const methods = 'get query post put patch delete head options trace'.split(' ')

/** An operation, with its parameters and responses after their references. */
export type Operation = Readonly<{
  /** The anchor of its place on the page. */
  id: string
  /** As it is sent. */
  method: string
  path: string
  summary: string | undefined
  description: string | undefined
  tags: readonly string[]
  isDeprecated: boolean
  parameters: readonly Section[]
  body: Section | undefined
  /** What the document says of HEAD, which answers as GET does. */
  head: Operation | undefined
  responses: readonly (readonly [status: string, response: Section])[]
}>

/** An OpenAPI document, as somebody else has written it. */
export class Openapi {
  readonly root: string
  readonly #document: Section
  readonly info: Section
  readonly operations: readonly Operation[]
  readonly schemas: readonly (readonly [name: string, schema: unknown])[]
  readonly sharedRefusals: ReturnType<typeof sharedRefusalsIn>

  /** `root` is the path of the gateway on this host: what a proxy or an app has put before all of its paths. */
  constructor(document: unknown, root: string) {
    this.root = root
    this.#document = section(document)
    this.info = section(this.#document['info'])
    this.operations = this.#operationsIn(section(this.#document['paths']))
    this.sharedRefusals = sharedRefusalsIn(this.operations)
    this.schemas = Object.entries(section(section(this.#document['components'])['schemas']))
  }

  /** The tags in the order of the document, then those that it doesn't describe, each with its operations. */
  get groups(): readonly Readonly<{ tag: Section; operations: readonly Operation[] }>[] {
    const described = list(this.#document['tags']).map(section)
    const names = described.map(({ name }) => text(name) ?? '')
    const used = this.operations.flatMap(({ tags }) => tags)
    const others = [...new Set(used)].filter((name) => !names.includes(name))
    const tags: Section[] = [...described, ...others.map((name) => ({ name }))]
    const groups = tags.map((tag) => ({
      tag,
      // Under its first tag only: twice on a page, nobody would know which is meant.
      operations: this.operations.filter((each) => each.tags[0] === text(tag['name'])),
    }))
    const rest = this.operations.filter(({ tags }) => tags.length === 0)
    const all = rest.length > 0 ? [...groups, { tag: { name: 'Other' }, operations: rest }] : groups
    return all.filter(({ operations }) => operations.length > 0)
  }

  /** The thing that a value stands for: its target, if it is a reference. */
  resolve(value: unknown): Section {
    let at = section(value)
    // As many steps as there may be; references that lead in a circle end nowhere.
    for (let step = 0; step < 20; step++) {
      const reference = text(at['$ref'])
      if (reference === undefined) return at
      const beside = Object.entries(at).filter(([name]) => name !== '$ref')
      at = { ...section(targetOf(this.#document, reference)), ...Object.fromEntries(beside) }
    }
    return {}
  }

  #operationsIn(paths: Section): Operation[] {
    return Object.entries(paths).flatMap(([path, value]) => {
      const item = this.resolve(value)
      const all = operationsOf(item, methods).map(([method, operation]) =>
        this.#operation(method, path, item, operation),
      )
      const [get, head] = ['GET', 'HEAD'].map((name) => all.find(({ method }) => method === name))
      return get && head
        ? all
            .filter((each) => each !== head)
            .map((each) => (each === get ? { ...get, head } : each))
        : all
    })
  }

  #operation(method: string, path: string, item: Section, operation: Section): Operation {
    const { summary, description, tags, deprecated, requestBody, responses } = operation
    return {
      id: `${method.toLowerCase()}-${path.replace(/[^\w]+/g, '-').replace(/^-|-$/g, '')}`,
      method,
      path,
      summary: text(summary) ?? text(item['summary']),
      description: text(description) ?? text(item['description']),
      tags: list(tags).flatMap((tag) => text(tag) ?? []),
      isDeprecated: deprecated === true,
      parameters: this.#parameters(list(item['parameters']), list(operation['parameters'])),
      head: undefined,
      body: requestBody === undefined ? undefined : this.resolve(requestBody),
      responses: Object.entries(section(responses)).map(([status, response]) => [
        status,
        this.resolve(response),
      ]),
    }
  }

  /** The parameters of an operation replace those of its path with the same name and place. */
  #parameters(ofPath: readonly unknown[], own: readonly unknown[]): Section[] {
    const all = [...ofPath, ...own].map((each) => this.resolve(each))
    const byName = new Map(
      all.map((each) => [`${String(each['in'])} ${String(each['name'])}`, each]),
    )
    return [...byName.values()]
  }
}

/** The name of a schema of the document's components that a value refers to. */
export function schemaName(value: unknown): string | undefined {
  const reference = text(section(value)['$ref'])
  const name = reference?.match(/^#\/components\/schemas\/([^/]+)$/)?.[1]
  return name === undefined ? undefined : stepOf(name)
}

/** The anchor of a schema's place on the page. */
export function schemaId(name: string): string {
  return `schema-${name}`
}

/** The refusals that most operations have word by word, which are shown once, by their statuses; each is the response of one of the operations. */
function sharedRefusalsIn(operations: readonly Operation[]) {
  const every = operations.flatMap((each) => (each.head ? [each, each.head] : [each]))
  const byContent = new Map<string, Operation['responses']>()
  for (const { responses } of every) {
    for (const one of responses.filter(([status]) => !/^[123]/.test(status))) {
      const content = JSON.stringify(one)
      byContent.set(content, [...(byContent.get(content) ?? []), one])
    }
  }
  const shared = [...byContent.values()].filter(
    (alike) => alike.length > 1 && alike.length > every.length / 2,
  )
  const responses = new Set(shared.flat().map(([, response]) => response))
  return {
    all: shared
      .flatMap(([first]) => (first ? [first] : []))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
    /** Whether a response of an operation is one of them. */
    has: (response: Section) => responses.has(response),
  }
}

/** The anchor of a shared refusal's place on the page. */
export function sharedRefusalId(status: string): string {
  return `refusal-${status}`
}
