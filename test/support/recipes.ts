import { parse } from 'yaml'
import type { WrittenMembers } from '../../gateway/front/limits/answer-cost.ts'
import { textOf } from './readme.ts'

export type Recipe = Readonly<{
  name: string
  from: WrittenMembers
  whole: string
  streamed: string
  points: number
}>

/** The recipes of the page about tokens, each with an answer of its API, whole and streamed, and what both cost. */
export function recipes(): readonly Recipe[] {
  const [, page = ''] = /^## Recipes\n(.*?)^## /ms.exec(textOf('config/tokens.md')) ?? []
  const form =
    /^\*\*(.+?)\*\*.*?^```yaml\n(.*?)^```\n.*?^```json\n(.*?)^```\n.*?^```text\n(.*?)^```\n.*?^Both cost (\d+) points/gms
  return [...page.matchAll(form)].map(
    ([, name = '', yaml = '', whole = '', streamed = '', points]) => ({
      ...{ name, whole, streamed, points: Number(points) },
      from: (parse(yaml) as { from: WrittenMembers }).from,
    }),
  )
}
