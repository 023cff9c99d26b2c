import type { ServerResponse } from 'node:http'

/** Closes an answer whose connection is gone. Node 22 and 24 close only the one that is being sent. */
export function abandon(response: ServerResponse): void {
  if (response.closed) return
  Reflect.set(response, '_closed', true)
  response.destroyed = true
  response.emit('close')
}
