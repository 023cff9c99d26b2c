import assert from 'node:assert/strict'
import type { Messages } from '../front/shelves/messages.ts'
import { promised, until, type Contract, type Promises } from './contract.ts'

/** Views of one store, as two gateways have it; the same one twice, where a gateway is alone with its store. */
export type TwoMessages = Readonly<{
  first: Messages
  second: Messages
  close: () => Promise<void>
}>

/** The promises of a shelf of messages, for any technology. */
export function messagesContract(contract: Contract<TwoMessages>): void {
  promised(contract, promises)
}

/** Listens, and gives what is heard. */
async function heardBy(messages: Messages, channel: string): Promise<string[]> {
  const heard: string[] = []
  await messages.listen(channel, (text) => heard.push(text))
  return heard
}

const promises: Promises<TwoMessages> = {
  'all who listen hear a message, its sender too': async ({ first, second }) => {
    const heard = await Promise.all([...new Set([first, second])].map((view) => heardBy(view, 'c')))
    await first.send('c', 'one')
    await second.send('c', 'two')
    for (const texts of heard) {
      await until(() => texts.length === 2, `2 messages: ${texts.length} came`)
      assert.deepEqual([...texts].sort(), ['one', 'two'])
    }
  },

  'many at once are all heard, in any order': async ({ first, second }) => {
    const heard = await heardBy(second, 'c')
    const sent = Array.from({ length: 50 }, (_, i) => String(i))
    await Promise.all(sent.map((text) => first.send('c', text)))
    await until(() => heard.length === 50, '50 messages')
    assert.deepEqual([...heard].sort(), [...sent].sort())
  },

  'a channel is no other one, whatever it is called': async ({ first, second }) => {
    const channels = [
      'c',
      'C',
      'c ',
      'c:',
      'c:*',
      '"c"',
      "c'",
      'c;',
      '{c}',
      'Zoë',
      'answers:1-2',
      'x'.repeat(100),
    ]
    const heard = new Map<string, string[]>()
    for (const channel of channels) heard.set(channel, await heardBy(second, channel))
    for (const channel of channels) await first.send(channel, `to ${channel}`)
    for (const [channel, texts] of heard) {
      await until(() => texts.length > 0, `a message to ${channel}`)
      assert.deepEqual(texts, [`to ${channel}`])
    }
  },

  'a text may have any characters, and be long': async ({ first, second }) => {
    const heard = await heardBy(second, 'c')
    const texts = ['', '"\'\\\n\r\t', 'Zoë 😀 \u2028', '%s $1 {}', 'x'.repeat(200_000)]
    for (const text of texts) await first.send('c', text)
    await until(() => heard.length === texts.length, 'all messages')
    assert.deepEqual([...heard].sort(), [...texts].sort())
  },

  'who listens anew hears in place of who listened before': async ({ first, second }) => {
    const before = await heardBy(second, 'c')
    const after = await heardBy(second, 'c')
    await first.send('c', 'one')
    await until(() => after.length > 0, 'a message')
    assert.deepEqual([before, after], [[], ['one']])
  },

  'a message to nobody goes nowhere': async ({ first, second }) => {
    await first.send('c', 'early')
    const heard = await heardBy(second, 'c')
    await first.send('c', 'late')
    await until(() => heard.length > 0, 'a message')
    assert.deepEqual(heard, ['late'])
  },

  'nothing is heard once the store is closed': async ({ first, second }) => {
    const other = await heardBy(first, 'c')
    const heard = await heardBy(second, 'c')
    second.close()
    await first.send('c', 'late')
    if (first !== second) await until(() => other.length > 0, 'a message')
    assert.deepEqual(heard, [])
  },
}
