import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import t from 'tap'
import { parseDocument, visit } from 'yaml'
import { changeOf, differencesOf } from '../../../gateway/office/config/diff.ts'
import { jsonSchema } from '../../../gateway/office/config/json-schema.ts'
import { parseConfig, readConfig } from '../../../gateway/office/config/load.ts'
import { NamedFiles } from '../../../gateway/office/config/named-files.ts'
import { previewConfig } from '../../../gateway/office/config/preview.ts'
import { fileSchema } from '../../../gateway/office/config/schema.ts'
import { configText } from '../../../gateway/office/config/show.ts'
import { isOf } from '../../../shared/schema.ts'
import { ajvCheckOf } from '../../support/ajv.ts'
import { pairFor, selfSigned } from '../../support/certificate.ts'
import {
  environment,
  everySetting,
  filled,
  messagesOf,
  shipped,
} from '../../support/configuration.ts'
import { root } from '../../support/process.ts'
import { appOfCosts } from '../../support/routes.ts'
import { settingsOf } from '../../support/settings.ts'
import { folderOf } from '../../support/folder.ts'

t.test('what is shown of a file is a file that changes nothing', async (t) => {
  const { cert, key } = pairFor(t)
  const dir = folderOf(t)
  const every = everySetting.map((text) => text.replaceAll('CERT', cert).replaceAll('PRIVATE', key))
  const written = every.map((text) => parseDocument(text).toJS() as unknown)
  const missing = [...settingsOf(fileSchema).keys()].filter(
    (place) => !written.some((file) => isWritten(file, place)),
  )
  t.strictSame(missing, [], 'each setting is tried')
  const texts = {
    shipped,
    deployed: readFileSync(join(root, 'config/deploy/etc/gateway.yaml'), 'utf8'),
    ...Object.fromEntries(every.entries()),
    filled,
  }
  const said = { ...environment, REDIS_URL: 'redis://:hunter2@redis:6379' }
  for (const [name, text] of Object.entries(texts)) {
    const [file, copy] = [join(dir, `${name}.yaml`), join(dir, `${name}-shown.yaml`)]
    writeFileSync(file, text)
    const before = readConfig(file, said)
    const yaml = configText(before.shown)
    t.notMatch(yaml, /hunter2/)
    writeFileSync(copy, yaml)
    if (yaml.includes('…')) {
      const lost = yaml.split('\n').filter((line) => line.includes('…'))
      const told = messagesOf(yaml, 'x', said)
      t.equal(told.length, lost.length, `each secret that ${name} has lost is told`)
      for (const each of told)
        t.match(each, / has … in place of a secret, as config show prints it: write the secret/)
      continue
    }
    const after = readConfig(copy, said)
    t.strictSame(differencesOf(before.shown, after.shown), [], name)
    t.strictSame(after.config, { ...before.config, hash: after.config.hash }, name)
  }
  t.end()
})

function isWritten(value: unknown, place: string): boolean {
  if (place === '') return value !== undefined
  const [, first = '', rest = ''] = /^(\[\]|[^.[]+)\.?(.*)$/.exec(place) ?? []
  if (typeof value !== 'object' || value === null) return false
  const within = ['[]', 'NAME'].includes(first) ? Object.values(value) : [Reflect.get(value, first)]
  return within.some((each) => isWritten(each, rest))
}

t.test('differences are named and told as one writes them', (t) => {
  const before = previewConfig(shipped, {}, 'x').shown
  const changed = shipped
    .replace('perMinute: 60, perDay: 1000 }', 'perMinute: 90, perDay: 1000, bans: off }')
    .replace('timeout: 50ms', 'timeout: 70ms')
    .replace('grace: 1s', 'grace: 2s')
    .replace('/v1/quota', '/me')
    .replace('enterprise: custom', 'enterprise: { limits: custom }\n  gold: custom')
    .replace(/^ {2}business: .*\n/m, '')
  const differences = differencesOf(before, previewConfig(changed, {}, 'x').shown)
  t.strictSame(differences, [
    { place: 'store.timeout', before: '50ms', after: '70ms', needsRestart: true },
    { place: 'plans.free.perMinute', before: 60, after: 90 },
    { place: 'plans.free.bans', before: 'on', after: 'off' },
    {
      place: 'plans.business',
      before: { perMinute: 1_000, perDay: 100_000, bans: 'on' },
      after: null,
    },
    { place: 'plans.gold', before: null, after: { limits: 'custom', bans: 'on' } },
    { place: 'bans.grace', before: '1s', after: '2s' },
    { place: 'quota.path', before: '/v1/quota', after: '/me' },
  ])
  t.equal(changeOf('x', before, before), undefined, 'nothing is nothing to write down')
  t.end()
})

t.test('files are checked against the schema as Ajv checks them', (t) => {
  const isSoundByAjv = ajvCheckOf(fileSchema)
  const leaves = ['', 'x', '1s', '5', 0, 1, -1, 0.5, true, null, [], ['x'], {}, { x: 1 }]
  for (const text of everySetting) {
    const document = parseDocument(text)
    t.ok(isOf(fileSchema, document.toJS()), 'one of each setting')
    let [tried, refused] = [0, 0]
    visit(document, {
      Scalar: (key, node) => {
        if (key === 'key') return
        const before = node.value
        for (const leaf of leaves) {
          node.value = leaf
          const value: unknown = document.toJS()
          const isSound = isOf(fileSchema, value)
          if (isSound !== isSoundByAjv(value))
            t.fail(`${String(before)} as ${JSON.stringify(leaf)}`)
          tried++
          if (!isSound) refused++
        }
        node.value = before
      },
    })
    t.ok(refused > 100 && refused < tried, `${refused} of ${tried} are refused`)
  }
  t.end()
})

t.test('a section that is half written is refused with a sentence', (t) => {
  let tried = 0
  for (const text of everySetting) {
    const document = parseDocument(text)
    visit(document, {
      Map: (_key, node) => {
        const { items } = node
        for (const { key } of items) {
          for (const value of [null, 5, {}]) {
            node.items = [document.createPair(key, value)]
            t.ok(
              messagesOf(String(document)).length > 0,
              `${String(key)}: ${JSON.stringify(value)}`,
            )
            tried++
          }
        }
        node.items = items
      },
    })
  }
  t.ok(tried > 500, `${tried} of them`)
  t.end()
})

t.test('editors take what the gateway takes, and tell what each setting is for', (t) => {
  const validate = new Ajv({ strict: false }).compile(jsonSchema())
  const isFine = (text: string): boolean => {
    const fine = validate(parseDocument(text).toJS())
    if (!fine) t.comment(validate.errors)
    return fine
  }
  const dir = join(root, 'config')
  for (const file of ['gateway.yaml', 'deploy/etc/gateway.yaml']) {
    t.ok(isFine(readFileSync(join(dir, file), 'utf8')), file)
  }
  for (const text of everySetting) t.ok(isFine(text), 'one of each setting')
  for (const text of everySetting) {
    const document = parseDocument(text)
    let count = 0
    visit(document, {
      Scalar: (key, node) => {
        if (key === 'key') return
        count++
        node.value = '${NAME:-x}'
      },
    })
    t.ok(count > 60, `${count} of them`)
    t.ok(isFine(String(document)), 'a variable in each place')
  }
  for (const wrong of [
    'drain: 5 minutes',
    'drain: 30',
    'store: { timeout: 0s }',
    'routes: [ { path: /v1/*, upstream: x, bodyLimit: 1MB } ]',
    'deprecations: [ { operation: GET /x, since: 5 Dec 2025 } ]',
  ]) {
    const text = `plans: { free: custom }\n${/^routes/.test(wrong) ? '' : 'routes: []\n'}${wrong}`
    t.notOk(validate(parseDocument(text).toJS()), wrong)
    t.not(messagesOf(text).length, 0)
  }
  const told = JSON.stringify(jsonSchema())
  const purposes = purposesIn(fileSchema)
  t.ok(purposes.length > 100, `${purposes.length} of them`)
  for (const purpose of purposes) t.ok(told.includes(JSON.stringify(purpose).slice(1, -1)), purpose)
  t.end()
})

/** The purposes of all settings and sections of a schema. */
function purposesIn(rule: unknown): string[] {
  if (typeof rule !== 'object' || rule === null) return []
  const inside = Object.entries(rule).filter(([name]) => name !== 'default')
  return inside.flatMap(([name, value]) =>
    name === 'description' && typeof value === 'string' ? [value] : purposesIn(value),
  )
}

t.test('what is sound can be served', async (t) => {
  const paths = ['/*', '/v1/*', '/v1/x', '/v1/{a}', '/v1/{b}', '/v1/{a}/*', '/v1/x/', '/', '/me']
  const methods = [undefined, ['GET'], ['POST', 'PUT'], ['HEAD'], ['GET', 'PURGE'], ['DELETE']]
  const route = fc.record({
    path: fc.constantFrom(...paths),
    methods: fc.constantFrom(...methods),
    upstream: fc.constant('animals'),
  })
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.array(route, { maxLength: 5 }), async (routes) => {
      const text = JSON.stringify({
        plans: { free: 'custom' },
        upstreams: { animals: { targets: ['http://127.0.0.1:1'] } },
        quota: { path: '/me' },
        routes,
      })
      if (messagesOf(text).length > 0) return
      count++
      const config = parseConfig(text, {}, 'x')
      for (const isAlone of [true, false]) await appOfCosts(t, config, isAlone)
    }),
    { seed: 7, numRuns: 100 },
  )
  t.ok(count > 40, `${count} of them`)
})

t.test('a certificate is a file of a size that is looked at before it is read', (t) => {
  const { cert } = selfSigned()
  const dir = folderOf(t, {
    ...{ 'huge.pem': 'x'.repeat(2 ** 20 + 1), 'sound.pem': cert },
    ...{ 'other.pem': 'x', 'half.pem': cert.slice(0, 200) },
  })
  execFileSync('mkfifo', [join(dir, 'pipe')])
  const told = (ca: string): string[] =>
    messagesOf(shipped.replace('targets:', `tls: { ca: ${ca} }\n    targets:`))
  t.strictSame(told(join(dir, 'sound.pem')), [])
  for (const [ca, why] of [
    [join(dir, 'pipe'), "can't be read: it isn't a file"],
    [dir, "can't be read: it isn't a file"],
    ['/dev/zero', "can't be read: it isn't a file"],
    [join(dir, 'huge.pem'), "can't be read: it has 1,048,577 bytes; at most 1,048,576 are allowed"],
    [join(dir, 'none.pem'), "can't be read: there is no such file"],
    [join(dir, 'other.pem'), 'must be a file that begins with a certificate in PEM'],
    [join(dir, 'half.pem'), 'must be a file that begins with a certificate in PEM'],
  ] as const) {
    t.match(told(ca), [new RegExp(`upstreams\\.animals\\.tls\\.ca ${why}$`)], ca)
  }
  t.end()
})

t.test(
  'a file that a configuration names is used as it was checked, whoever writes to it meanwhile',
  (t) => {
    const folder = folderOf(t, { 'document.json': '{}', 'ca.pem': 'a certificate' })
    const files = new NamedFiles(join(folder, 'gateway.yaml'), { readsDocument: true })
    const [document, certificates] = [join(folder, 'document.json'), join(folder, 'ca.pem')]
    const before = [files.openapi(document), files.tlsFile(certificates)]
    writeFileSync(document, '')
    writeFileSync(certificates, '')
    t.strictSame([files.openapi(document), files.tlsFile(certificates)], before)
    t.equal(files.tlsFile(certificates).text, 'a certificate')
    t.end()
  },
)

t.test('a configuration is never changed', (t) => {
  const config = parseConfig(shipped, {}, 'x')
  t.throws(() => Object.assign(config.listen, { port: 1 }), TypeError)
  t.throws(() => (config.plans as Map<string, unknown>).set('x', 1), TypeError)
  t.throws(() => Object.assign(config.plans.get('free')?.limits ?? {}, { perDay: 1 }), TypeError)
  t.throws(() => (config.routes as unknown[]).push(1), TypeError)
  t.end()
})

t.test('the schema for editors is the one that the gateway goes by', (t) => {
  const file = JSON.parse(readFileSync(join(root, 'config/gateway.schema.json'), 'utf8')) as unknown
  t.strictSame(file, JSON.parse(JSON.stringify(jsonSchema())), 'else run: npm run schema')
  t.match(file, { $id: 'urn:tollgate:gateway.schema.json' })
  t.match(shipped, /^# yaml-language-server: \$schema=gateway\.schema\.json\n/)
  t.end()
})
