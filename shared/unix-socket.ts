/** The longest path of a Unix socket, in bytes: systems keep it in 108, with a zero behind it. */
const longestPath = 107

/** The syntax of a Unix socket's URL. */
export const socketPattern = 'unix:(?:/[^/?#\\s]+)+'
export const socketForm = `unix:/path of at most ${longestPath} bytes`

const socketUrl = new RegExp(`^${socketPattern}$`)

export function isSocketUrl(text: string): boolean {
  return socketUrl.test(text) && Buffer.byteLength(socketPathOf(text) ?? '') <= longestPath
}

/** The path of the Unix socket that a URL names; `undefined` for one that names a host. */
export function socketPathOf(url: string): string | undefined {
  return url.startsWith('unix:') ? url.slice('unix:'.length) : undefined
}
