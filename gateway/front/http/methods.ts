import { shapeOf } from './paths.ts'

/** The methods of a route that names none. QUERY (RFC 10008) is a GET with a body. */
export const usualMethods: readonly string[] = 'GET HEAD QUERY POST PUT PATCH DELETE OPTIONS'.split(
  ' ',
)

/** The parts of a route that decide its methods. */
export type Entry = Readonly<{ path: string; methods?: readonly string[] | undefined }>

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

/** The methods that a router must tell apart by path: the usual ones, and those that some route names. */
export function methodsTaken(
  routes: readonly Readonly<{ methods: readonly string[] }>[],
): string[] {
  return [...new Set([...usualMethods, ...routes.flatMap(({ methods }) => methods)])]
}

/** The methods, with HEAD wherever GET is. */
export function withHead(methods: readonly string[]): string[] {
  return methods.includes('GET') && !methods.includes('HEAD') ? [...methods, 'HEAD'] : [...methods]
}
