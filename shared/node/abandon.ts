import type { ServerResponse } from 'node:http'

/** Tells an answer that its connection is gone; Node 20 to 24 tell only the one that was being sent. */
export function abandon(response: ServerResponse): void {
  if (response.closed) return
  Reflect.set(response, '_closed', true)
  response.destroyed = true
  response.emit('close')
}
