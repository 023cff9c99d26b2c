import {
  isSocketUrl,
  socketForm,
  socketPathOf,
  socketPattern,
} from '../../../shared/unix-socket.ts'

const webPattern = 'https?://[^/?#@]+/?'
const webUrl = new RegExp(`^${webPattern}$`)

/** The syntax of a target's URL: scheme, host and port, or `unix:` and the path of a socket. */
export const targetPattern = `^(?:${webPattern}|${socketPattern})$`
export const targetForm = `an http or https URL without a path, or ${socketForm}`

export function isTargetUrl(text: string): boolean {
  return (webUrl.test(text) && URL.canParse(text)) || isSocketUrl(text)
}

/** The name of a target, one for all spellings of its URL. */
export function originOf(url: string): string {
  return socketPathOf(url) === undefined ? new URL(url).origin : url
}

/** A target's URL as HTTP knows it: behind a Unix socket is `localhost`. */
export function webUrlOf(url: string): URL {
  return new URL(socketPathOf(url) === undefined ? url : 'http://localhost')
}
