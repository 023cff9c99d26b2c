/** The rule for a collector's address, in words. */
export const collectorForm =
  'an http or https URL without /v1/traces, such as http://127.0.0.1:4318'

/** The beginning of the rule, as a regular expression: no name, password, query or fragment. */
export const collectorPattern = '^https?://[^/?#@\\s]+(?:/[^?#\\s]*)?$'

/** Whether a text is the address of a collector, to which `/v1/traces` can be added. */
export function isCollector(text: string): boolean {
  return (
    new RegExp(collectorPattern).test(text) && URL.canParse(text) && !/\/v1\/traces\/*$/.test(text)
  )
}
