import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { folderOf } from '../support/folder.ts'
import { startGateway } from '../support/gateway.ts'
import { application, arrivalsAt, startClient, type Arrived } from '../support/guide-client.ts'
import { json } from '../support/http.ts'
import { bound } from '../support/promises.ts'
import { blocks, textOf } from '../support/readme.ts'
import { day, movable, noon } from '../support/receiver.ts'

const [client = ''] = blocks(textOf('config/guides/calling.md'), 'js')

/** The limit of each window that is used up, and how many calls the client of the guide has under way. */
const [limit, atOnce] = [20, 10]

const isRefused = ({ status }: Arrived): boolean => status === 429

/**
 * A gateway whose clock the test moves, and clients of the guide at 4 and at 40 calls a second, each in a process and with a key
 * of its own, of which a minute, an hour or a day gets used up.
 */
async function startClients(t: Test) {
  const { clock, move } = movable()
  const routes = `[ { path: /v1/*, upstream: animals }, { path: /use, upstream: animals, cost: ${limit} } ]`
  const folder = folderOf(t, { 'application.mjs': client + application })
  const store = `file: ${join(folder, 'gateway.db')}`
  const gateway = await startGateway(t, { clock, routes, store })
  const cases = (['perMinute', 'perHour', 'perDay'] as const).flatMap((window) =>
    [4, 40].map((perSecond) => ({ window, perSecond })),
  )
  const clients = await Promise.all(
    cases.map(async ({ window, perSecond }) => {
      const none = { perMinute: 'unlimited', perDay: 'unlimited' } as const
      const { token, headers } = await gateway.key({ limits: { ...none, [window]: limit } })
      const run = await startClient(t, join(folder, 'application.mjs'), token)
      const name = `${window}, ${perSecond} calls a second`
      return { name, window, perSecond, token, headers, run }
    }),
  )
  const useUp = () =>
    Promise.all(clients.map(({ headers }) => gateway.call('GET', '/use', undefined, headers)))
  /** Has all clients call for a while, and gives what came of it. No key may be banned for it. */
  const callFor = async (forMs: number) => {
    const arrivals = arrivalsAt(gateway, clock)
    const ran = clients.map(async ({ run, ...about }) => {
      const { name, perSecond, token, headers } = about
      const answers = await run({ url: `${gateway.url}/v1/x`, perSecond, forMs })
      const arrived = arrivals(token)
      const most = Math.max(...arrived.map(({ underWay }) => underWay))
      t.ok(most <= atOnce, `${name}: ${most} at once`)
      const standing = json(await gateway.call('GET', '/v1/quota', undefined, headers))
      t.match(standing, { bannedUntil: null }, `${name}: not banned`)
      return { ...about, answers, arrived }
    })
    return Promise.all(ran)
  }
  return { clock, move, useUp, callFor }
}

t.test(
  'the client of the guide asks once, and answers all calls with a long wait’s 429',
  async (t) => {
    const { useUp, callFor } = await startClients(t)
    await useUp()
    for (const { name, window, perSecond, answers, arrived } of await callFor(3_000)) {
      t.ok(arrived.length <= atOnce, `${name}: ${arrived.length} requests`)
      if (window === 'perMinute') t.strictSame(answers, [], `${name}: calls wait`)
      else {
        t.ok(answers.length > perSecond, `${name}: ${answers.length} calls were answered`)
        const codes = new Set(answers.map(({ status, code }) => `${status} ${code}`))
        t.strictSame([...codes], ['429 rate_limit_exceeded'], name)
        const [first, last] = [answers.at(0), answers.at(-1)].map((each) => each?.retryAfter ?? 0)
        t.ok(first && last && last < first, `${name}: wait ${first} s, later ${last} s`)
      }
    }
  },
)

t.test('the client of the guide is in at the first moment of a minute, hour or day', async (t) => {
  const { clock, move, useUp, callFor } = await startClients(t)
  const leftMs = Math.min(30_000, bound(500))
  const beginsAt = noon + day / 2
  move(beginsAt - leftMs - clock())
  await useUp()
  for (const { name, perSecond, arrived } of await callFor(leftMs + 2_000)) {
    const after = arrived.filter(({ atMs }) => atMs >= beginsAt)
    const before = arrived.slice(0, arrived.length - after.length)
    t.ok(before.length > 0 && before.every(isRefused), `${name}: was refused`)
    const [first, second] = after
    const late = (first?.atMs ?? NaN) - beginsAt
    t.ok(first?.status === 200 && late < bound(250), `${name}: in after ${late} ms`)
    t.equal(second?.underWay, 1, `${name}: one call goes first`)
    const most = limit + atOnce
    t.ok(after.length <= most, `${name}: ${after.length} requests, ${most} at most`)
    const count = after.filter(({ status }) => status === 200).length
    const waited = Math.floor((perSecond * leftMs) / 1000)
    t.ok(count >= Math.min(limit, waited), `${name}: ${count} were let in`)
  }
})

t.test(
  'the client of the guide waits as long as it is told, is let in, and hands failures on',
  async (t) => {
    const gateway = await startGateway(t)
    const limits = { perSecond: 2, perMinute: 'unlimited', perDay: 'unlimited' } as const
    const { token } = await gateway.key({ limits })
    const file = join(folderOf(t), 'call.mjs')
    const calls = `
for (let i = 0; i < ${atOnce}; i++) await call('http://127.0.0.1:1').catch(() => console.log('failed'))
for (let i = 0; i < 5; i++) console.log((await call('${gateway.url}/v1/x')).status)`
    writeFileSync(file, `${client}\n${calls}\n`)
    const { stdout } = await promisify(execFile)(process.execPath, [file], {
      env: { ...process.env, KEY: token },
    })
    t.equal(stdout, 'failed\n'.repeat(atOnce) + '200\n'.repeat(5))
  },
)
