/** Whether a text is the URL of a target: scheme, host and port, and nothing else. */
export function isTargetUrl(text: string): boolean {
  return /^https?:\/\/[^/?#@]+\/?$/.test(text) && URL.canParse(text)
}
