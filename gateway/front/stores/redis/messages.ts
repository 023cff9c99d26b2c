import type { Messages } from '../../shelves/messages.ts'
import { answerOf } from './answer.ts'
import { duplicate, hear, type Connection } from './connect.ts'

/** The longest message that is read: whoever may use the store may write here. */
const longestText = 1_048_576

/** Messages by publish and subscribe. */
export function redisMessages(connection: Connection, prefix: string): Messages {
  const listeners = new Map<string, (text: string) => void>()
  /** A connection of its own, made when it is needed: one that listens can send no other commands. */
  let subscriber: Connection | undefined
  const channelOf = (name: string): string => `${prefix}messages:${name}`

  const subscribe = (): Connection => {
    const made = duplicate(connection)
    made.on('ready', () => void made.subscribe(...listeners.keys()).catch(() => undefined))
    hear(made, (text, channel) => {
      if (text.length <= longestText) listeners.get(channel)?.(text)
    })
    return made
  }

  return {
    async send(channel, text) {
      await answerOf(connection.publish(channelOf(channel), text))
    },

    async listen(channel, heard) {
      listeners.set(channelOf(channel), heard)
      const listener = (subscriber ??= subscribe())
      if (listener.status !== 'ready') {
        await new Promise<void>((resolve) => void listener.once('ready', resolve))
      }
      // Doing it again does no harm, and shows that the connection is alive.
      await answerOf(listener.subscribe(channelOf(channel)))
    },

    close() {
      // What has come already is heard by nobody.
      listeners.clear()
      subscriber?.disconnect()
    },
  }
}
