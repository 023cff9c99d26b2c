// The declarations of the package beside those that the compiler makes.

/** What an app's requests have: within the gateway they have more, which is nobody else's. */
export const ofRequests = `
import type { GuardedRequest } from './front/request-record.ts'
declare module 'fastify' {
  interface FastifyRequest {
    /** What Tollgate knows of this request; \`null\` where a route isn't guarded. */
    tollgate: GuardedRequest | null
  }
}
`

const asModule = "with { 'resolution-mode': 'import' }"

/** The declarations of an ES module that only exports from other files, for those who load it by `require`. */
export function declarationsForCommonJs(declarations) {
  const names = [...declarations.matchAll(/export (type )?\{([^}]*)\}/g)].flatMap(([, all, list]) =>
    list
      .split(',')
      .map((each) => each.trim())
      .filter(Boolean)
      .map((each) => ({
        isType: Boolean(all) || each.startsWith('type '),
        name: each.replace(/^type /, ''),
      })),
  )
  const types = names.filter(({ isType }) => isType).map(({ name }) => name)
  const values = names.filter(({ isType, name }) => !isType && !name.includes(' as '))
  return [
    `import type * as all from './index.js' ${asModule}`,
    `export type { ${types.join(', ')} } from './index.js' ${asModule}`,
    ...values.flatMap(({ name }) => [
      `export declare const ${name}: typeof all.${name}`,
      // A class is a type as well.
      ...(/^[A-Z]/.test(name) ? [`export type ${name} = all.${name}`] : []),
    ]),
    ...names.flatMap(({ name }) => {
      const [, inner] = /^(\w+) as default$/.exec(name) ?? []
      return inner ? [`export default ${inner}`] : []
    }),
    '',
  ].join('\n')
}
