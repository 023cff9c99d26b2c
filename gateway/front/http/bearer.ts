const longestToken = 512
const bearer = /^bearer +[A-Za-z0-9\-._~+/]+=*$/i

/** The token of the `Authorization` header; `undefined` without the header, `null` if it isn't one bearer token. */
export function bearerToken(rawHeaders: readonly string[]): string | null | undefined {
  let value: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    if (name?.length !== 13 || name.toLowerCase() !== 'authorization') continue
    // Servers disagree about which of two headers counts, so neither is used.
    if (value !== undefined) return null
    value = rawHeaders[i + 1]
  }
  if (value === undefined) return undefined
  if (!bearer.test(value)) return null
  const token = value.slice(value.lastIndexOf(' ') + 1)
  return token.length <= longestToken ? token : null
}
