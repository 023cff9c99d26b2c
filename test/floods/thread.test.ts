import { readFileSync } from 'node:fs'
import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import { json } from '../support/http.ts'
import { startAsProcess as start, token } from '../support/operator.ts'
import { startUpstream } from '../support/gateway.ts'

const plan = (i: number): string => ` p${i}: {perMinute: ${i + 1}, perDay: 9}\n`

/** Plans of a file, which are in it in a line each. */
function plansOf(count: number): string {
  return Array.from({ length: count }, (_, i) => plan(i)).join('')
}

t.test('a question that has ended its thread by its time isn’t asked again', async (t) => {
  const more = `plans:\n free: {perMinute: 60, perDay: 1000}\n${plansOf(4_000)}`
  const { ask, metrics } = await startAdmin(t, { more, thread: { silenceMs: 3_000 } })
  const set = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`plans.p${i}.perDay`, 10]))
  const { status, text } = await ask('POST', '/admin/config/edit', { set })
  t.equal(status, 503)
  t.match(text, 'This takes more than 3 seconds. Ask for fewer days')
  t.match(await metrics(), /^tollgate_office_restarts_total 0$/m, 'of no other thread')
})

t.test('a file that takes too much memory is refused, and not read again', async (t) => {
  const { ask, write, metrics } = await startAdmin(t, { thread: { heapMb: 48 } })
  write((text) => text.replace('plans:', `plans:\n${plansOf(20_000)}`))
  const message = /^The file is refused, .*: This needs more than 48 MB of memory\./
  t.match(json(await ask('POST', '/admin/config/reload')), { code: 'conflict', message })
  t.match(json(await ask('GET', '/admin/config')), { mistakes: [/more than 48 MB/] })
  t.match(await metrics(), /^tollgate_office_restarts_total 1$/m)
})

const most = 2 ** 20

/** A text as long as may be. */
function filled(part: (i: number) => string, head = '', tail = ''): string {
  const parts = [head]
  for (let [i, length] = [0, head.length + tail.length]; ; i++) {
    const next = part(i)
    length += next.length
    if (length > most) return parts.join('') + tail
    parts.push(next)
  }
}

const rest = 'upstreams: {a: {targets: ["http://a"]}}\nroutes: [{path: /*, upstream: a}]\nplans:\n'
const sound = filled(plan, rest)
const unset = filled((i) => ` p${i}: "\${A}"\n`, rest)
const used = `${rest} p: {perMinute: 1, perDay: 2, paths: &p [${'/a,'.repeat(120_000)}/a]}\n`

/** Texts that take much memory in a reader that tells each mistake, or keeps each value. */
const worst: Readonly<Record<string, string>> = {
  'ninety thousand mistakes': filled((i) => `x${i}: 1\n`),
  'a long list': filled(() => 'a,', 'x: [', ']'),
  'a list just short enough': `x: [${'a,'.repeat(199_000)}a]`,
  'a list of lists': filled(() => '- - - - - - - - - -\n', 'x:\n'),
  'one name': `${'a: 1\n'.repeat(130_000)}`,
  brackets: filled(() => '['),
  'a number that is cut by commas': filled(() => '000,', 'plans: {a: 1,', '}'),
  anchors: filled((i) => `&a${i} 1,`, 'x: [', ']'),
  'a list that is used again and again':
    used +
    Array.from({ length: 99 }, (_, i) => ` p${i}: {perMinute: 1, perDay: 2, paths: *p}\n`).join(''),
  'a long name': `${rest} ? ${'a'.repeat(500_000)}\n :\n${filled((i) => `  x${i}: 1\n`).slice(0, 400_000)}`,
  comments: filled(() => '#\n'),
}

t.test('checks of any text keep a gateway below the memory of its container', async (t) => {
  const upstream = (await startUpstream(t)).url
  const { ask, gateway } = await start(t, {
    upstream,
    environments: [{ ADMIN_TOKEN: `eve/read:${token}` }],
  })
  const status = () => readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8')
  const peakMb = () => Number(/VmHWM:\s+(\d+)/.exec(status())?.[1]) / 1_024
  const deployment = readFileSync('config/deploy/kubernetes/base/gateway.yaml', 'utf8')
  const mostMb = Number(/limits: \{ memory: (\d+)Mi \}/.exec(deployment)?.[1])
  const yaml = { 'content-type': 'application/yaml' }
  const check = async (text: string) => json(await ask('POST', '/admin/config/check', text, yaml))
  t.comment(`${peakMb().toFixed()} MB before`)
  for (let i = 0; i < 10; i++) {
    t.match(await check(sound), { sound: true })
    t.match(await check(unset), { mistakes: { length: 100 }, more: Number })
  }
  t.comment(`${peakMb().toFixed()} MB with twenty of the largest`)
  for (const [what, text] of Object.entries(worst)) {
    const answer = await ask('POST', '/admin/config/check', text, yaml)
    t.equal(answer.status, 200, what)
    t.ok(answer.text.length < 300_000)
    t.comment(`${peakMb().toFixed()} MB with ${what}`)
  }
  t.ok(mostMb > 0 && peakMb() < mostMb, `${peakMb().toFixed()} of ${mostMb} MB`)
  const restarts = /^tollgate_office_restarts_total (\d+)$/m
  t.equal(restarts.exec((await ask('GET', '/metrics')).text)?.[1], '0', 'no thread has died of it')
})
