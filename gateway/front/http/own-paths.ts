/** Where callers get tickets. */
export const ticketPath = '/v1/ticket'

/** Where the gateway says whose tokens it takes beside keys (RFC 9728). */
export const resourcePath = '/.well-known/oauth-protected-resource'

/** The documents of the pages for callers, below the path of the pages. */
export const pageDocuments = {
  openapi: 'openapi.json',
  terms: 'terms.json',
  llms: 'llms.txt',
} as const

/** The paths of the pages for callers, without their files, whose names nobody can know before. */
export function pagePaths(path: string): string[] {
  return [path, `${path}/`, ...Object.values(pageDocuments).map((name) => `${path}/${name}`)]
}
