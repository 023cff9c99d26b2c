/** The types of errors in the APIs of models, by status; all others are `api_error`. */
const typeByStatus = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'invalid_request_error'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
])

type Body = Readonly<{ code: string; message: string; status: number }>

/** The body of a refusal with what SDKs of models read: `error`, and beside it the `type` of Anthropic's. */
export function forModels(text: string): string {
  const body = JSON.parse(text) as Body
  const { code, message, status } = body
  const type = typeByStatus.get(status) ?? 'api_error'
  // Problem details have a type of their own.
  return JSON.stringify({ type: 'error', ...body, error: { message, type, code } })
}
