import type { Test } from 'tap'
import type { ComparisonView } from '../../gateway/office/compare/comparison-view.ts'
import { token } from './operator.ts'
import { until } from './until.ts'

/** The operation that compares. */
export const path = '/admin/upstreams/compare'

/** The share that leaves no request out. */
export const allRequests = '100%'

/** Begins a comparison, and gives it while it runs: its latest news, its end, and how to leave it. */
export async function compare(t: Test, admin: string, settings: Record<string, string>) {
  const leaving = new AbortController()
  t.teardown(() => leaving.abort())
  const answer = await fetch(admin + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify(settings),
    signal: leaving.signal,
  })
  if (!answer.ok || !answer.body) throw new Error(`${answer.status} ${await answer.text()}`)
  const state: { latest?: ComparisonView } = {}
  const read = async (body: AsyncIterable<Uint8Array>): Promise<ComparisonView | undefined> => {
    const decoder = new TextDecoder()
    let text = ''
    for await (const bytes of body) {
      text += decoder.decode(bytes, { stream: true })
      const events = text.split('\n\n').slice(0, -1)
      const [, data] = /^data: (.*)$/m.exec(events.at(-1) ?? '') ?? []
      if (data !== undefined) state.latest = JSON.parse(data) as ComparisonView
    }
    return state.latest
  }
  const over = read(answer.body)
  over.catch(() => undefined)
  await until(() => state.latest !== undefined)
  const latest = (): ComparisonView => {
    if (!state.latest) throw new Error('there was an event')
    return state.latest
  }
  return { over, latest, leave: () => leaving.abort() }
}
