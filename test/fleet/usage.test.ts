import t from 'tap'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { openStores } from '../../gateway/front/stores/open.ts'
import { usage } from '../../gateway/front/counts/usage.ts'
import { startFleet, startServed, type Fleet } from '../support/fleet.ts'
import { plans, startUpstream } from '../support/gateway.ts'
import { caller } from '../support/http.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { seeded } from '../support/seeded.ts'
import { ledgerLines } from '../../gateway/office/ledger/ledger.ts'
import { readFileSync } from 'node:fs'

const dayMs = 86_400_000

/** Today's usage of all keys. */
async function today({ file }: Pick<Fleet, 'file'>) {
  const { store } = parseConfig(readFileSync(file, 'utf8'), {}, 'fleet.yaml')
  const stores = await openStores(store, { forCommandLine: true })
  try {
    const day = Math.floor(Date.now() / dayMs)
    return await usage(stores, { fromDay: day - 1, toDay: day })
  } finally {
    await stores.close()
  }
}

t.test('four gateways that stop have written down each request', async (t) => {
  const redis = await startRedis(t)
  const upstream = await startUpstream(t, ({ url = '' }, response) => {
    response.writeHead(url.endsWith('7') ? 404 : 200).end('{}')
  })
  const fleet = await startServed(t, {
    upstream: upstream.url,
    more: plans,
    store: `redis: "${redis.url}"`,
    environments: [{}, {}, {}, {}],
  })
  const calls = fleet.urls.map(caller)
  const keys = await Promise.all(Array.from({ length: 15 }, (_, i) => fleet.key({ name: `${i}` })))
  const answers: Record<string, number> = {}
  let admitted = 0
  await Promise.all(
    keys.map(async (headers, name) => {
      for (let i = 0; i < 100; i++) {
        const call = calls[(name + i) % calls.length]
        const { status } = (await call?.('GET', `/v1/${i}`, undefined, headers)) ?? { status: 0 }
        const place = `${name} ${Math.floor(status / 100)}xx`
        answers[place] = (answers[place] ?? 0) + 1
        if (status !== 429) admitted++
      }
    }),
  )
  for (const { signal } of fleet.processes) signal('SIGTERM')
  for (const { ended } of fleet.processes) t.equal((await ended).code, 0)
  const found = await today(fleet)
  const counted = Object.fromEntries(
    found.flatMap(({ name, answers }) =>
      Object.entries(answers).map(([which, count]) => [`${name} ${which}`, count]),
    ),
  )
  t.strictSame(counted, answers)
  t.equal(
    found.reduce((sum, each) => sum + each.admitted, 0),
    admitted,
  )
  t.equal(found.length, keys.length)
})

t.test('a gateway that is killed has lost five seconds of usage at most', async (t) => {
  const upstream = await startUpstream(t)
  const fleet = await startFleet(t, { upstream: upstream.url, more: plans })
  const headers = await fleet.key({ limits: { perMinute: 'unlimited', perDay: 'unlimited' } })
  const [url = ''] = fleet.urls
  const call = caller(url)
  const times: number[] = []
  // Just over the promise: a gateway that writes less often has written nothing yet.
  const end = performance.now() + 5_500
  while (performance.now() < end) {
    await call('GET', '/v1/x', undefined, headers)
    times.push(performance.now())
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const [process] = fleet.processes
  process?.child.kill('SIGKILL')
  await process?.ended
  const old = times.filter((time) => time < performance.now() - 5_000).length
  const [{ admitted } = { admitted: 0 }] = await today(fleet)
  t.ok(admitted >= old && admitted <= times.length, `${admitted}: of ${times.length}, ${old} older`)
})

/** The points of each quota today, by the ledger. */
async function pointsToday({ file }: Pick<Fleet, 'file'>): Promise<Map<string, number>> {
  const { store } = parseConfig(readFileSync(file, 'utf8'), {}, 'fleet.yaml')
  const stores = await openStores(store, { forCommandLine: true })
  try {
    const points = new Map<string, number>()
    const { nowMs } = await stores.fleet.list()
    const toDay = Math.floor(nowMs / dayMs)
    // The test may begin before midnight.
    const query = { fromDay: toDay - 1, toDay, by: 'account' } as const
    for await (const line of ledgerLines(stores, query, nowMs)) {
      const quota = line.id.slice(line.day.length + 1)
      points.set(quota, (points.get(quota) ?? 0) + line.points)
    }
    return points
  } finally {
    await stores.close()
  }
}

t.test('the ledger is right to the request through kills of gateways and of Redis', async (t) => {
  const redis = await startRedis(t, '--appendonly', 'yes', '--appendfsync', 'always')
  // Some requests get no answer: the gateway makes a 502, and gives the points back.
  const upstream = await startUpstream(t, ({ url = '', socket }, response) => {
    if (url.endsWith('7')) socket.destroy()
    else response.end('{}')
  })
  const fleet = await startFleet(t, {
    upstream: upstream.url,
    more: plans,
    store: `redis: "${redis.url}"`,
    environments: [{}, {}, {}, {}],
  })
  const wide = { limits: { perMinute: 'unlimited', perDay: 'unlimited' } } as const
  const quotas = await Promise.all(
    ['acme', 'acme', undefined, undefined, 'globex'].map(async (account) => {
      const headers = await fleet.key({ ...wide, ...(account === undefined ? {} : { account }) })
      const [, id = ''] = /tg_(\w+?)_/.exec(headers.authorization) ?? []
      return { headers, quota: account === undefined ? `key:${id}` : `account:${account}` }
    }),
  )
  const answered = new Map<string, number>()
  const unanswered = new Map<string, number>()
  let failures = 0
  const random = seeded(27)
  /** Sends requests through one gateway, one after the other; ends when it is killed. */
  const send = async (url: string, count: number): Promise<void> => {
    const call = caller(url)
    for (let i = 0; i < count; i++) {
      const { headers, quota } = quotas[i % quotas.length] ?? { headers: {}, quota: '' }
      const path = `/v1/${i < quotas.length ? 0 : random(40)}`
      const status = await call('GET', path, undefined, headers).then(
        (answer) => answer.status,
        () => 0,
      )
      const counts = status === 0 ? unanswered : answered
      if (status === 200 || status === 0) counts.set(quota, (counts.get(quota) ?? 0) + 1)
      else if (status === 502) failures++
      else t.fail(`${path}: ${status}`)
      if (status === 0) return
    }
  }
  const isRight = async (): Promise<boolean> => {
    const points = await pointsToday(fleet)
    return [...answered].every(([quota, count]) => {
      const more = (points.get(quota) ?? 0) - count
      return more >= 0 && more <= (unanswered.get(quota) ?? 0)
    })
  }
  const [first = '', ...others] = fleet.urls
  const sent = Promise.all(fleet.urls.map((url) => send(url, 100)))
  await until(() => (answered.get('account:acme') ?? 0) > 60)
  fleet.processes[0]?.child.kill('SIGKILL')
  await sent
  await t.rejects(caller(first)('GET', '/v1/0'), 'it is gone')
  t.ok(unanswered.size <= 1, 'it had one request under way at most')
  await until(isRight)
  // Nothing is under way: a question without an answer may count twice.
  await redis.kill()
  await Promise.all(others.map((url) => send(url, 60)))
  await redis.restart()
  await until(isRight, 20_000)
  await Promise.all(others.map((url) => send(url, 40)))
  t.ok(await isRight(), 'to the request')
  t.ok(failures > 10, `${failures} were given back`)
  for (const [quota, count] of answered) t.ok(count > 50, `${quota}: ${count}`)
})
