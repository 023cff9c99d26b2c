import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import type { Gateway } from './gateway.ts'

/** The answer to one call. */
export type Answered = Readonly<{ status: number; code?: string; retryAfter: number }>

/** What a client does: calls to a URL, so many a second, for so long. */
export type Work = Readonly<{ url: string; perSecond: number; forMs: number }>

/** What an application adds to a client that exports `call`: calls when they are due, whatever became of others, and the answers in time. */
export const application = `
process.on('message', async ({ url, perSecond, forMs }) => {
  const answers = []
  const begun = performance.now()
  const until = (ms) =>
    new Promise((go) => setTimeout(go, Math.max(0, begun + ms - performance.now())))
  const note = async (answer) => {
    const { status, headers } = answer
    const { code } = await answer.json()
    answers.push({ status, code, retryAfter: Number(headers.get('retry-after')) })
  }
  for (let dueAt = 0; dueAt < forMs; dueAt += 1000 / perSecond) {
    await until(dueAt)
    call(url).then(note)
  }
  await until(forMs)
  process.send(answers)
})
process.send('ready')
`

/** A process of an application, which is ready to do some work with a key. */
export async function startClient(t: Test, file: string, key: string) {
  const child = fork(file, { env: { ...process.env, KEY: key } })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child, 'message')
  return async (work: Work): Promise<readonly Answered[]> => {
    child.send(work)
    const [answers] = (await once(child, 'message')) as [readonly Answered[]]
    return answers
  }
}

/** A request as the gateway's server saw it. */
export type Arrived = { atMs: number; status: number; underWay: number }

/** The requests of each key that reach a gateway, in order, with how many of that key were under way then, itself included. */
export function arrivalsAt({ server }: Gateway, clock: () => number) {
  const byKey = new Map<string, Arrived[]>()
  const underWay = new Map<string, number>()
  server.prependListener('request', ({ headers: { authorization = '' } }, response) => {
    const change = (by: number): number => {
      const now = (underWay.get(authorization) ?? 0) + by
      underWay.set(authorization, now)
      return now
    }
    const arrived: Arrived = { atMs: clock(), status: 0, underWay: change(1) }
    byKey.set(authorization, [...(byKey.get(authorization) ?? []), arrived])
    response.once('finish', () => {
      arrived.status = response.statusCode
      change(-1)
    })
  })
  return (token: string): readonly Arrived[] => byKey.get(`Bearer ${token}`) ?? []
}
