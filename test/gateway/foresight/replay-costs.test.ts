import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { SimulationView } from '../../../gateway/office/foresight/replay/simulation-view.ts'
import { runCommand } from '../../support/command.ts'
import { configFor, startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { seeded } from '../../support/seeded.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

const more = 'plans: { free: { perMinute: 300, perHour: 300, perDay: 300, bans: off } }'
const routesOf = (cost: string) => `[ { path: /v1/*, upstream: animals, cost: ${cost} } ]`
const byAnswer = (estimate: number) => `{ estimate: ${estimate}, from: answer, atMost: 60 }`

for (const estimate of [10, 0]) {
  t.test(`a replay admits by an estimate of ${estimate}, and counts what was told`, (t) =>
    agrees(t, estimate),
  )
}

async function agrees(t: Test, estimate: number): Promise<void> {
  const routes = routesOf(byAnswer(estimate))
  const random = seeded(28)
  const upstream = await startUpstream(t, (_request, response) => {
    response.setHeader('X-Gateway-Cost', random(50)).end('{}')
  })
  const lines: string[] = []
  const log = { level: 'info', target: { write: (line: string) => void lines.push(line) } }
  const gateway = await startGateway(t, { upstream, more, routes, log })
  const { headers } = await gateway.key({ plan: 'free' })
  const answered = () => lines.filter((line) => line.includes('"decision"')).length
  for (let i = 1; i <= 40; i++) {
    await gateway.call('GET', '/v1/x', undefined, headers)
    await until(() => answered() === i)
  }
  /** Lines that don't tell by which request: their costs are those that were logged. */
  const bare = lines.map((line) =>
    JSON.stringify({ ...(JSON.parse(line) as object), method: undefined, path: undefined }),
  )
  const store = 'file: gateway.db'
  const config = (others: string) => configFor(upstream.url, store, { more, routes: others })
  const dir = folderOf(t, {
    'own.yaml': config(routes),
    'plain.yaml': config(routesOf('10')),
    'capped.yaml': config(routesOf('{ estimate: 10, from: answer, atMost: 10 }')),
    'all.log': lines.join(''),
    'bare.log': bare.join('\n'),
  })
  const replayed = async (name: string, log: string) => {
    const files = [join(dir, log), '--config', join(dir, name)]
    const { out } = await runCommand(['simulate', ...files, '--json', '--without-store'], {})
    return json(out) as unknown as SimulationView
  }
  const own = await replayed('own.yaml', 'all.log')
  t.match(own.agrees.config, { of: 40, same: 40, first: null })
  const [plan] = own.plans
  const admitted = plan?.config.admitted ?? 0
  t.ok(admitted > 5 && admitted < 40, `${admitted} were let in`)
  const bareView = await replayed('own.yaml', 'bare.log')
  t.equal(bareView.plans[0]?.config.admitted, admitted)
  const plain = await replayed('plain.yaml', 'all.log')
  t.equal(plain.plans[0]?.config.admitted, 30, 'a number in the file is what each costs')
  const capped = await replayed('capped.yaml', 'all.log')
  t.ok((capped.plans[0]?.config.admitted ?? 0) >= 30, 'the most of the file counts')
}

t.test('a line with an estimate that is no number is named', async (t) => {
  const line = {
    level: 30,
    time: 1_790_000_000_000,
    key: 'zoo',
    plan: 'free',
    decision: 'admitted',
  }
  const dir = folderOf(t, {
    'own.yaml': configFor('http://127.0.0.1:1', 'file: gateway.db', { more }),
    'a.log': JSON.stringify({ ...line, decidedAt: line.time, estimate: 'ten', cost: 3 }),
  })
  const files = [join(dir, 'a.log'), '--config', join(dir, 'own.yaml')]
  const { code, out } = await runCommand(['simulate', ...files, '--without-store'], {})
  t.equal(code, 1)
  t.match(out, /a\.log:1: "estimate" must be a number/)
})
