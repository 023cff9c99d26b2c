const longestToken = 512
const bearer = /^bearer +[A-Za-z0-9\-._~+/]+=*$/i

/** The token of the one `Authorization` header; `undefined` if there is none, `null` if it is no bearer's. */
export function bearerToken(rawHeaders: readonly string[]): string | null | undefined {
  let found: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    if (name?.length !== 13 || name.toLowerCase() !== 'authorization') continue
    // Two of them may be read differently by the next server: neither is believed.
    if (found !== undefined) return null
    found = rawHeaders[i + 1]
  }
  if (found === undefined) return undefined
  if (!bearer.test(found)) return null
  const token = found.slice(found.lastIndexOf(' ') + 1)
  return token.length <= longestToken ? token : null
}
