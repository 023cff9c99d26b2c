import t, { type Test } from 'tap'
import { ConfigError } from '../../../gateway/office/config/config-error.ts'
import { previewConfig } from '../../../gateway/office/config/preview.ts'
import { fileSchema } from '../../../gateway/office/config/schema.ts'
import { isOf } from '../../../shared/schema.ts'

const least = `
upstreams: { animals: { targets: ['http://127.0.0.1:1'] } }
routes: [{ path: /v1/*, upstream: animals }]
`
const free = 'plans: { free: { perMinute: 60, perDay: 1000 } }'

t.test('a default that contradicts another setting is noticed as if it were written', (t) => {
  for (const [place, initial, text, expected] of [
    ['drain', '20s', free, ['warning: drain is longer than shutdown, which is 15s']],
    ['shutdown', '2s', free, ['warning: drain is longer than shutdown, which is 2s']],
    ['usage.path', '/v1/quota', free, ['usage.path is quota.path as well: /v1/quota']],
    ['quota.path', '/me', `${free}\nusage: { path: /me }`, ['usage.path is quota.path as well']],
    [
      'quota.path',
      '/v1/*',
      free,
      ['routes[0].path is quota.path, where the gateway itself answers: /v1/*'],
    ],
    ['bans.for', '2h', free, ['bans.atMost must not be shorter than bans.for, which is 2h']],
    ['bans.grace', '1m', free, ['warning: bans.grace is a minute or longer']],
    [
      'bans.strikes',
      '20',
      free,
      ['warning: bans.strikes is below what a minute of the plan free lets in'],
    ],
    ['admin.port', 8080, free, ['listen.port must differ from admin.port, which is 8080']],
    [
      'admin.port',
      9000,
      `${free}\nlisten: { port: 9000 }`,
      ['listen.port must differ from admin.port, which is 9000'],
    ],
    ['strangers.perDay', 30, free, ['strangers.perMinute is never reached: perDay is 30']],
    [
      'routes.cost',
      61,
      free,
      ['routes[0].cost is more than any plan allows: free has 60 a minute'],
    ],
    ['workers', 2, free, ['workers needs a store in Redis']],
    ['store.redis', 'redis://127.0.0.1:1', `${free}\nworkers: 2`, []],
    ['quota.path', '/me', 'plans: { free: { perMinute: 1, perDay: 1, paths: [/me] } }', []],
  ] as [string, unknown, string, string[]][]) {
    t.test(`${place}: ${String(initial)}`, (t) => {
      changeDefault(t, place, initial)
      const told = toldOf(text + least)
      t.equal(told.length, expected.length, told.join('\n'))
      for (const [i, sentence] of expected.entries()) t.match(told[i], sentence)
      t.end()
    })
  }
  t.end()
})

t.test('each default is what its setting may be', (t) => {
  const tried = [...rulesIn(fileSchema)].filter((rule) => 'default' in rule)
  t.ok(tried.length > 60, `${tried.length} of them`)
  for (const rule of tried) {
    t.ok(isOf(rule, Reflect.get(rule, 'default')), String(Reflect.get(rule, 'description')))
  }
  t.end()
})

t.test('a default stands for no value that a variable decides', (t) => {
  const plans = 'plans: { free: { perMinute: 1, perDay: 1, paths: [/me, /v1/x] } }'
  const variables = { ME: '/me', TIME: '1s' }
  t.strictSame(toldOf(`${plans}\nquota: { path: "\${ME}" }\n${least}`, variables), [])
  t.strictSame(toldOf(`${free}\nshutdown: "\${TIME}"\ndrain: 5m\n${least}`, variables), [])
  t.end()
})

t.test('a section that is no section has no defaults, and one mistake', (t) => {
  for (const section of ['listen', 'admin', 'store', 'strangers', 'bans', 'quota', 'headers']) {
    const told = toldOf(`${free}\n${section}: [1]\n${least}`)
    t.equal(told.length, 1, told.join('\n'))
    t.match(told[0], `${section} must be a section of settings`)
  }
  t.end()
})

/** A schema, and all the schemas within it. */
function* rulesIn(rule: object): Generator<object> {
  yield rule
  for (const [name, within] of Object.entries(rule)) {
    if (name !== 'default' && typeof within === 'object') yield* rulesIn(within as object)
  }
}

/** Mistakes and warnings of a text, as somebody is told who may not see the environment. */
function toldOf(text: string, environment = {}): readonly string[] {
  try {
    return previewConfig(text, environment, 'x').warnings
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.mistakes
  }
}

/** Gives a setting of the schema another default, until a test ends. */
function changeDefault(t: Test, place: string, initial: unknown): void {
  const setting = place.split('.').reduce<object>((rule, name) => {
    const { properties } = { ...rule, ...Reflect.get(rule, 'items'), ...sectionIn(rule) } as {
      properties: object
    }
    return Reflect.get(properties, name) as object
  }, fileSchema)
  const before: unknown = Reflect.get(setting, 'default')
  Reflect.set(setting, 'default', initial)
  t.teardown(() => Reflect.set(setting, 'default', before))
}

/** The section of a choice, such as that of a section that may be off. */
function sectionIn(rule: object): object | undefined {
  const choice = (Reflect.get(rule, 'anyOf') ?? []) as readonly object[]
  return choice.find((each) => 'properties' in each)
}
