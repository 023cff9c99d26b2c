import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { operations } from '../../gateway/office/operations/all.ts'
import { storeAt } from '../support/filled-store.ts'
import { startUpstream } from '../support/gateway.ts'
import type { Answer, Call } from '../support/http.ts'
import { account, fillLargely } from '../support/large-store.ts'
import { startAsProcess as start } from '../support/operator.ts'
import { longestPieceMs, probe } from '../support/stops.ts'
import { folderOf } from '../support/folder.ts'

const routeCount = 1_000
const keyCount = 10_000

/** The CPU time in ms that the loop may take at once: 10, and as much for whoever shares the processor's core. */
const mostMs = 20

/** What else a process does meanwhile, collecting garbage above all, only adds to its longest piece. */
const rounds = 15

const routeOf = (i: number) => `
  # ${'The team of this route, and whom to ask about it. '.repeat(2)}
  - path: /r${i}/*
    upstream: animals
    methods: [GET, POST]
    bodyLimit: 512KiB`

const terms = `plans: { free: { perMinute: 60, perDay: 1000, shadow: { perMinute: 2, perDay: 2 } } }
deprecations: [ { operation: "GET /r0/old", since: 2026-01-01 } ]`

const yaml = { 'content-type': 'application/yaml' }
const csv = { 'content-type': 'text/csv' }

type Asks = Readonly<Record<string, () => Promise<Answer>>>

type About = Readonly<{ ids: readonly string[]; refused: string; next: string; file: string }>

/** Each operation at its largest, by its name and, after a comma, what is special about it. */
function asksOf(ask: Call, { ids, refused, next, file }: About): Asks {
  const text = readFileSync(file, 'utf8')
  const [one = '', other = ''] = ids
  const key = `/admin/keys/${one}`
  let number = 0
  /** The file with one more route and another limit. */
  const changed = () =>
    text
      .replace('perDay: 1000', `perDay: ${1_000 + ++number}`)
      .replace('routes:', `$&${routeOf(routeCount)}`)
  const rows = () =>
    Array.from({ length: keyCount }, (_, i) => `${number}${'t'.repeat(40)}${i},free,New ${i}\n`)
  const add = (lines: readonly string[]) =>
    ask('POST', '/admin/keys/import', `token,plan,name\n${lines.join('')}`, csv)
  const ofAccount = (verb: string) => () => ask('POST', `/admin/keys/${verb}`, { account })
  const swap = (verb: string) => () => ask('POST', `/admin/upstreams/animals/swap/${verb}`)
  const header = Buffer.from('{"alg":"ES256"}').toString('base64url')
  const claims = Buffer.from(`{${'"a":[],'.repeat(850)}"b":1}`).toString('base64url')
  const longestJwt = `${header}.${claims}.x`
  const overlong = { more: Array<string>(60_000).fill('x') }
  const inFile = Array.from({ length: 20 }, (_, i) => [`routes[${i}].bodyLimit`, `${++number}KiB`])
  return {
    'requests show': () => ask('GET', `/admin/requests/${refused}`),
    now: () => ask('GET', '/admin/live?range=day'),
    'keys create': () => ask('POST', '/admin/keys', { name: 'New', plan: 'free' }),
    'keys create, a long mistake': () => ask('POST', '/admin/keys', overlong),
    'keys list': () => ask('GET', '/admin/keys'),
    'keys list, a page': () => ask('GET', '/admin/keys?limit=1000&standing=true'),
    'keys list, sorted': () => ask('GET', '/admin/keys?limit=1000&sort=use'),
    'keys list, a search': () => ask('GET', '/admin/keys?limit=1000&search=nothing'),
    'keys show': () => ask('GET', key),
    'keys find': () => ask('POST', '/admin/keys/find', { token: 'x'.repeat(40) }),
    'keys find, a long mistake': () => ask('POST', '/admin/keys/find', overlong),
    'keys timeline': () => ask('GET', `${key}/timeline`),
    'keys change': () => ask('PATCH', '/admin/keys', { account, note: `note ${++number}` }),
    'keys rotate': () => ask('POST', `${key}/rotate`, {}),
    'keys disable': ofAccount('disable'),
    'keys enable': ofAccount('enable'),
    'keys revoke': ofAccount('revoke'),
    'keys import': () => {
      number++
      return add(rows())
    },
    'keys import, blank lines': () => add(['\n'.repeat(2 ** 22)]),
    'keys import, a long line': () => add(['x'.repeat(2 ** 25)]),
    'jwt list': () => ask('GET', '/admin/jwt'),
    'jwt check': () => ask('POST', '/admin/jwt/check', { token: longestJwt }),
    'bans list': () => ask('GET', '/admin/bans'),
    'bans set': () => ask('PUT', `/admin/bans/${other}`, { for: '1h' }),
    'bans lift': () => ask('DELETE', `/admin/bans/${other}`),
    'quota show': () => ask('GET', `/admin/quota/${other}`),
    'quota reset': () => ask('POST', `/admin/quota/${other}/reset`, {}),
    'quota grant': () => ask('POST', `/admin/quota/${other}/grant`, { perDay: 9 }),
    'quota top-up': () =>
      ask('POST', `/admin/quota/${other}/top-up`, { points: 1, id: `number-${++number}` }),
    'quota top-ups': () => ask('GET', `/admin/quota/${other}/top-ups`),
    'quota month': () => ask('POST', `/admin/quota/${other}/month`, { monthFrom: 15 }),
    'usage export': () => ask('GET', '/admin/ledger?by=key&from=2020-01-01'),
    usage: () => ask('GET', '/admin/usage?days=90'),
    'usage, a key': () => ask('GET', `/admin/usage/${other}?days=90`),
    audit: () => ask('GET', '/admin/audit?limit=10000&days=90'),
    'plans list': () => ask('GET', '/admin/plans'),
    'plans preview': () =>
      ask('POST', '/admin/plans/free/preview', { perDay: 2, days: 90, limit: 100_000 }),
    'plans demand': () => ask('GET', '/admin/plans/free/demand?days=90'),
    'shadow report': () => ask('GET', '/admin/shadow?days=90'),
    'upstream check': () => ask('POST', '/admin/upstreams/check', { url: next }),
    'upstream swap status': () => ask('GET', '/admin/swaps'),
    'upstream swap pause': swap('pause'),
    'upstream swap resume': swap('resume'),
    'upstream swap finish': swap('finish'),
    'upstream swap back': swap('back'),
    'upstream list': () => ask('GET', '/admin/upstreams'),
    gateways: () => ask('GET', '/admin/gateways'),
    'notices list': () => ask('GET', '/admin/notices'),
    'notices test': () => ask('POST', '/admin/notices/test', {}),
    'deprecations report': () => ask('GET', '/admin/deprecations?days=90'),
    'deprecations days': () => ask('GET', '/admin/deprecations/days?days=90'),
    'config check': () => ask('POST', '/admin/config/check?impact=90', changed(), yaml),
    'config running': () => ask('GET', '/admin/config'),
    'config edit': () => ask('POST', '/admin/config/edit', { set: Object.fromEntries(inFile) }),
    'config file': () => ask('GET', '/admin/config/file'),
    'config save': async () => {
      const { headers } = await ask('GET', '/admin/config/file')
      const match = { 'if-match': String(headers['etag']) }
      return ask('PUT', '/admin/config/file', changed(), { ...yaml, ...match })
    },
    'config reload': () => {
      writeFileSync(file, changed())
      return ask('POST', '/admin/config/reload')
    },
  }
}

// The folder of a test is emptied when its gateway starts.
const store = join(folderOf(t), 'large.db')

t.test('no operation holds callers up', async (t) => {
  const ids = await fillLargely(storeAt(store), 'free', keyCount)
  const next = (await startUpstream(t)).url
  const { ask, gateway, file, url } = await start(t, {
    upstream: (await startUpstream(t)).url,
    upstreamMore: `swap: { to: ["${next}"], steps: [50], every: 1h }`,
    store: `file: ${store}`,
    adminMore: ', save: true',
    routes: Array.from({ length: routeCount }, (_, i) => routeOf(i)).join(''),
    more: terms,
    environments: [{ GATEWAY_SECRET: 'a-secret-of-more-than-16-characters' }],
    preload: probe,
  })
  const refused = (await fetch(`${url}/r1/1`)).headers.get('x-request-id') ?? ''
  const limits = { perMonth: { limit: 9, beyond: 'prepaid' } }
  t.equal((await ask('PATCH', `/admin/keys/${ids[1]}`, { limits })).status, 200)
  const asks = asksOf(ask, { ids, refused, next, file })

  for (const [what, act] of Object.entries(asks)) {
    const statuses: number[] = []
    const once = async () => void statuses.push((await act()).status)
    let leastMs = Infinity
    for (let round = 0; round < rounds && leastMs > mostMs; round++) {
      leastMs = Math.min(leastMs, await longestPieceMs(gateway, once))
    }
    t.ok(leastMs <= mostMs, `${what}: at most ${mostMs} ms, ${leastMs.toFixed(1)} ms`)
    const [status = 0] = statuses
    t.equal(
      status < 300,
      !/^keys find|, a long mistake|, blank lines|, a long line/.test(what),
      `${what}: ${status}`,
    )
  }
  const measured = new Set(Object.keys(asks).map((what) => what.replace(/,.*/, '')))
  const served = operations.filter((operation) => 'at' in operation)
  t.strictSame([...measured].sort(), served.map(({ name }) => name).sort(), 'all are measured')
})
