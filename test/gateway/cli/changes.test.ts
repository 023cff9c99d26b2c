import { join } from 'node:path'
import t from 'tap'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { changeSentence } from '../../../gateway/office/operations/change-sentence.ts'
import { commandLine } from '../../support/command-line.ts'
import { storeAt } from '../../support/filled-store.ts'

const until = '2026-11-25T18:23:00.000Z'
const mike = { id: 'VICTIM', name: 'Mike', plan: 'free', state: 'active' }
const progress = { state: 'moving', step: 1, sinceMs: 1_795_631_160_821, before: { requests: 31 } }

/** What the audit stores, and how operators read it. */
const sentences: readonly (readonly [
  what: string,
  before: unknown,
  after: unknown,
  text: string,
])[] = [
  ['keys.create', null, { ...mike, account: 'mike' }, 'created “Mike” (plan free, account mike)'],
  ['keys.import', null, { imported: 12 }, 'imported “Mike”, one of 12 keys'],
  ['keys.first', null, { issuer: 'i', count: 1 }, 'recorded 1 new caller of i'],
  ['keys.forget', null, { count: 2 }, 'removed 2 records of callers who were not seen for 90 days'],
  [
    'keys.change',
    mike,
    { ...mike, plan: 'pro', limits: { perMinute: 600 } },
    'changed “Mike”: plan free → pro, limit a minute none → 600',
  ],
  [
    'keys.change',
    { ...mike, cap: { perHour: 70 } },
    { ...mike, cap: { perMonth: 900 } },
    'changed “Mike”: cap an hour 70 → none, cap a month none → 900',
  ],
  ['keys.disable', mike, { ...mike, state: 'disabled' }, 'disabled “Mike”'],
  ['keys.enable', mike, mike, 'enabled “Mike”'],
  ['keys.revoke', mike, mike, 'revoked “Mike”'],
  [
    'keys.rotate',
    mike,
    { ...mike, oldTokenUntil: until },
    'rotated the token of “Mike”, the old one works until 2026-11-25 18:23:00Z',
  ],
  [
    'bans.earn',
    null,
    { id: 'VICTIM', until, strikes: 20 },
    'banned “Mike” until 2026-11-25 18:23:00Z: it sent 20 requests after a 429 had asked it to wait',
  ],
  ['bans.set', null, { id: 'VICTIM', until }, 'banned “Mike” until 2026-11-25 18:23:00Z'],
  [
    'console.refused',
    null,
    { address: '10.2.0.1', droppedLines: 107 },
    'refused a wrong token at the console, from 10.2.0.1, and 107 others before',
  ],
  ['bans.lift', { until }, null, 'lifted the ban of “Mike”'],
  [
    'quota.reset',
    { ...mike, minute: { used: 31 }, day: { used: 1_200 } },
    mike,
    'reset the counters of “Mike”: 31 used this minute, 1,200 used this day',
  ],
  [
    'quota.grant',
    null,
    { quota: 'key:VICTIM', perDay: 30, perMinute: null, note: 'runaway job', until },
    'granted “Mike” 30 points for this day: runaway job',
  ],
  [
    'quota.month',
    { quota: 'key:VICTIM', monthFrom: 1 },
    { quota: 'key:VICTIM', monthFrom: 15 },
    'moved the billing day of “Mike” from 1 to 15',
  ],
  [
    'config.change',
    { 'plans.free.perMinute': 60, 'cors.origins': [] },
    { 'plans.free.perMinute': 40, 'cors.origins': ['https://a', 'https://b'] },
    'changed VICTIM: plans.free.perMinute 60 → 40, cors.origins none → https://a https://b',
  ],
  [
    'config.change',
    { 'plans.free.perMinute': 60, 'plans.pro.perDay': 5_000 },
    { 'plans.free.perMinute': 80, 'plans.pro.perDay': 4_000 },
    'raised free to 80 a minute and lowered pro to 4,000 a day',
  ],
  [
    'config.change',
    { portal: null, 'plans.pro.perDay': 10_000, traces: { to: 'http://a', sample: '5%' } },
    {
      portal: { openapi: 'api.yaml', title: 'Pets', logo: null, paths: ['/docs'], terms: 'x' },
      'plans.pro.perDay': { limit: 10_000, beyond: 'meter', upTo: '300%' },
      traces: null,
    },
    'changed VICTIM: portal.openapi none → api.yaml, portal.title none → Pets, portal.paths none → /docs, and 4 more',
  ],
  [
    'config.change',
    { 'plans.pro.perDay': 10_000, traces: { to: 'http://a' } },
    { 'plans.pro.perDay': { limit: 300, beyond: 'meter', upTo: '300%' }, traces: null },
    'changed VICTIM: plans.pro.perDay 10,000 → { limit: 300, beyond: meter, upTo: 300% }, traces.to http://a → none',
  ],
  ['upstreams.check', null, { url: 'http://b' }, 'checked http://b for VICTIM'],
  ['swap.step', progress, progress, 'took the swap of VICTIM to step 2'],
  [
    'swap.back',
    progress,
    { ...progress, why: 'it fails' },
    'sent all callers of VICTIM back: it fails',
  ],
  ['later.version', null, { some: 1 }, 'later.version VICTIM: some none → 1'],
]

t.test('the audit’s lines are sentences with names and times', (t) => {
  for (const [what, before, after, sentence] of sentences) {
    const name = /^(?:keys|bans|quota)/.test(what) ? 'Mike' : undefined
    t.equal(changeSentence({ what, subject: 'VICTIM', before, after, name }), sentence, what)
  }
  t.end()
})

t.test('a damaged line is a sentence all the same', (t) => {
  const odd = [null, 'text', 7, [], { until: 'never', name: {}, strikes: 'x', minute: 5 }]
  for (const [what] of sentences) {
    for (const value of odd) {
      const text = changeSentence({ what, subject: 'VICTIM', before: value, after: value })
      t.notMatch(text, /undefined|Invalid|\[object/, text)
    }
  }
  t.end()
})

t.test('audit and timeline say what was done, and --json has the values', async (t) => {
  const { run, runJson } = await commandLine(t, 'file: $DIR/gateway.db')
  const create = ['keys', 'create', '--plan', 'free', '--name', 'Mike', '--account', 'mike']
  const { id } = await runJson(...create, '--by', 'eve')
  await run('bans', 'set', 'Mike', '--for', '1h', '--by', 'eve')
  await run('bans', 'lift', 'Mike', '--by', 'eve')
  const { out } = await run('audit')
  t.match(out, new RegExp(`eve +${String(id)} +lifted the ban of “Mike”\\n`))
  t.match(out, new RegExp(`eve +${String(id)} +created “Mike” \\(plan free, account mike\\)$`, 'm'))
  t.match(
    (await run('keys', 'timeline', 'Mike')).out,
    /^\S+ \S+Z +bans\.set +eve banned “Mike” until \S+ \S+Z$/m,
  )
  t.match(await runJson('audit', '--limit', '1'), [
    { what: 'bans.lift', before: { id }, sentence: 'eve lifted the ban of “Mike”' },
  ])
})

t.test('a key’s timeline has those changes of the configuration that touch it', async (t) => {
  const { run, runJson, folder } = await commandLine(t, 'file: $DIR/gateway.db')
  const place = storeAt(join(folder, 'gateway.db'))
  const stores = await openStores(place, { forCommandLine: true })
  t.teardown(() => stores.close())
  await run('keys', 'create', '--plan', 'free', '--name', 'Mike')
  let atMs = Date.now() - 60_000
  const change = (before: object, after: object): Promise<void> =>
    stores.audit.add({
      ...{ atMs: ++atMs, by: 'eve', what: 'config.change', subject: 'gateway.yaml' },
      ...{ before, after },
    })
  await change({ 'plans.pro.perDay': 10, portal: null }, { 'plans.pro.perDay': 20, portal: {} })
  await change(
    { 'plans.free.perDay': 1_000, 'portal.title': 'a' },
    { 'plans.free.perDay': 2_000, 'portal.title': 'b' },
  )
  await change({ 'bans.strikes': '100%' }, { 'bans.strikes': '50%' })
  const linesOf = async () =>
    ((await runJson('keys', 'timeline', 'Mike'))['lines'] as { what: string; sentence: string }[])
      .filter(({ what }) => what === 'config.change')
      .map(({ sentence }) => sentence)
  const ofFree = [
    'eve raised free to 2,000 a day',
    'eve changed gateway.yaml: bans.strikes 100% → 50%',
  ]
  t.strictSame(await linesOf(), ofFree)
  await run('keys', 'change', 'Mike', '--plan', 'pro')
  t.strictSame(await linesOf(), ['eve raised pro to 20 a day', ...ofFree], 'those of both plans')
})
