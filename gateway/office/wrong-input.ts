/** A mistake in the arguments: exit code 2, or status 400. The message says what to give instead. */
export class WrongInput extends Error {
  readonly code = 'invalid_request'
}
