/** What a route forwards that names no methods. */
const usualMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** An entry of a path, as far as methods are concerned. */
export type Entry = Readonly<{ path: string; methods?: readonly string[] | undefined }>

/** A path without the names in it: paths of one shape are one path. */
export function shapeOf(path: string): string {
  return path.replace(/\{\w+\}/g, '{}')
}

/** The methods of each entry: those that it names, or those that the other entries of its path leave. */
export function methodsOf(entries: readonly Entry[]): string[][] {
  const namedByShape = new Map<string, string[]>()
  for (const { path, methods = [] } of entries) {
    const shape = shapeOf(path)
    namedByShape.set(shape, [...(namedByShape.get(shape) ?? []), ...withHead(methods)])
  }
  return entries.map(({ path, methods }) => {
    if (methods) return withHead(methods)
    const named = namedByShape.get(shapeOf(path)) ?? []
    return usualMethods.filter((method) => !named.includes(method))
  })
}

/** What would be answered to GET is told to HEAD. */
export function withHead(methods: readonly string[]): string[] {
  return methods.includes('GET') && !methods.includes('HEAD') ? [...methods, 'HEAD'] : [...methods]
}
