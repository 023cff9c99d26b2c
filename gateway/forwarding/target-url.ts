/** Whether a text is the URL of a target: where it is, and nothing besides. */
export function isTargetUrl(text: string): boolean {
  return /^https?:\/\/[^/?#@]+\/?$/.test(text) && URL.canParse(text)
}
