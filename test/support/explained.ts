import type { Explained } from '../../gateway/office/explain/explained.ts'
import type { Gateway } from './gateway.ts'
import { json, type Answer } from './http.ts'
import { until } from './until.ts'

/** The answers with an id that gateways have found, and how many gateways were asked. */
export type Found = Readonly<{
  answers: readonly Explained[]
  gateways: { asked: number; answered: number }
}>

/** The explanation of one answer, when it is there. */
export async function explanationOf(ask: Gateway['call'], answer: Answer): Promise<Explained> {
  const id = String(answer.headers['x-request-id'])
  let found: Answer | undefined
  await until(async () => {
    found = await ask('GET', `/admin/requests/${id}`)
    return found.status === 200
  })
  const { answers } = json(found ?? '') as unknown as Found
  const [only] = answers
  if (answers.length !== 1 || !only) throw new Error(`${answers.length} answers have the id ${id}`)
  return only
}
