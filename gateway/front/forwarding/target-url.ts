/** The longest path of a Unix socket, in bytes: systems keep it in 108, with a zero behind it. */
const longestSocketPath = 107

/** The syntax of a target's URL: scheme, host and port, or `unix:` and the path of a socket. */
export const targetPattern = '^(?:https?://[^/?#@]+/?|unix:(?:/[^/?#\\s]+)+)$'
export const targetForm = `an http or https URL without a path, or unix:/path of at most ${longestSocketPath} bytes`

const targetUrl = new RegExp(targetPattern)

export function isTargetUrl(text: string): boolean {
  if (!targetUrl.test(text)) return false
  const path = socketPathOf(text)
  return path === undefined ? URL.canParse(text) : Buffer.byteLength(path) <= longestSocketPath
}

/** The path of the Unix socket that a target's URL names; `undefined` for one that names a host. */
export function socketPathOf(url: string): string | undefined {
  return url.startsWith('unix:') ? url.slice('unix:'.length) : undefined
}

/** The name of a target, one for all spellings of its URL. */
export function originOf(url: string): string {
  return socketPathOf(url) === undefined ? new URL(url).origin : url
}

/** A target's URL as HTTP knows it: behind a Unix socket is `localhost`. */
export function webUrlOf(url: string): URL {
  return new URL(socketPathOf(url) === undefined ? url : 'http://localhost')
}
