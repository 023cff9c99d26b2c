import type { RefusalCode } from '../../../shared/refusal.ts'
import { operationRefusal } from '../operations/refusal.ts'

/** The error of the operations of `app.tollgate`. In a route of the app, Fastify answers with its status. */
export class TollgateError extends Error {
  override readonly name = 'TollgateError'
  readonly code: RefusalCode
  readonly statusCode: number

  constructor(code: RefusalCode, statusCode: number, message: string, cause: unknown) {
    super(message, { cause })
    this.code = code
    this.statusCode = statusCode
  }
}

/** Runs something for an app, which gets a `TollgateError` for what an operation throws. A fault stays what it is. */
export async function forApp<Result>(
  run: () => Promise<Result>,
  mayChange = true,
): Promise<Result> {
  try {
    return await run()
  } catch (thrown) {
    const refusal = operationRefusal(thrown, mayChange)
    if (!refusal) throw thrown
    const { code, status, message } = refusal
    // Mistakes are told as commands tell them.
    const told = status < 500 && thrown instanceof Error ? thrown.message : message
    throw new TollgateError(code, status, told, thrown)
  }
}
