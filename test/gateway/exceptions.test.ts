import t from 'tap'
import type { Plan } from '../../gateway/limits/limits.ts'
import { startGateway } from '../support/gateway.ts'
import { json } from '../support/http.ts'

const noon = Date.UTC(2026, 5, 15, 12)

t.test('plan and key must both allow an operation, and a 403 costs nothing', async (t) => {
  const { call, key, app, config } = await startGateway(t, {
    clock: () => noon,
    more: `
plans:
  all: { perMinute: 600, perDay: 1000 }
  readers: { perMinute: 600, perDay: 1000, methods: [ GET ] }
  pets: { perMinute: 600, perDay: 1000, paths: [ /v1/pets, '/v1/pets/*' ] }
  both: { limits: custom, methods: [ GET, POST ], paths: [ '/v1/pets/{petId}' ] }
`,
  })
  type Rule = Readonly<{ methods?: readonly string[]; paths?: readonly string[] }>
  const ofPlans: Readonly<Record<string, Rule>> = {
    all: {},
    readers: { methods: ['GET', 'HEAD'] },
    pets: { paths: ['/v1/pets', '/v1/pets/*'] },
    both: { methods: ['GET', 'HEAD', 'POST'], paths: ['/v1/pets/{petId}'] },
  }
  const ofKeys: readonly Rule[] = [
    {},
    { methods: ['GET'] },
    { paths: ['/v1/pets/1', '/v1/store'] },
    { methods: ['POST'], paths: ['/v1/pets/*'] },
  ]
  /** The patterns of these tables, written out for these paths. */
  const pathsOf: Readonly<Record<string, readonly string[]>> = {
    '/v1/pets': ['/v1/pets'],
    '/v1/pets/*': ['/v1/pets/1', '/v1/pets/1/x', '/v1/pets/'],
    '/v1/pets/{petId}': ['/v1/pets/1'],
    '/v1/pets/1': ['/v1/pets/1'],
    '/v1/store': ['/v1/store'],
  }
  const paths = ['/v1/pets', '/v1/pets/', '/v1/pets/1', '/v1/pets/1/x', '/v1/store', '/v1/petshop']
  const allows = ({ methods, paths: patterns }: Rule, method: string, path: string): boolean =>
    (methods?.includes(method) ?? true) &&
    (patterns?.some((each) => pathsOf[each]?.includes(path)) ?? true)
  for (const [plan, ofPlan] of Object.entries(ofPlans)) {
    for (const ofKey of ofKeys) {
      const { headers } = await key({ plan, ...ofKey, limits: { perMinute: 600, perDay: 1000 } })
      let admitted = 0
      for (const path of paths) {
        for (const method of ['GET', 'HEAD', 'POST']) {
          const answer = await call(method, path, undefined, headers)
          const byPlan = allows(ofPlan, method, path)
          const isAllowed = byPlan && allows(ofKey, method, path)
          const name = `${plan} ${JSON.stringify(ofKey)} ${method} ${path}`
          if (isAllowed) admitted++
          if (answer.status !== (isAllowed ? 200 : 403)) t.fail(name)
          if (isAllowed || method === 'HEAD') continue
          const sentence = byPlan
            ? 'Your key is not for this operation: it is restricted to other methods or paths.'
            : "Your plan doesn't include this operation."
          t.strictSame(json(answer), { code: 'forbidden', message: sentence, status: 403 }, name)
        }
      }
      const standing = json(await call('GET', '/v1/quota', undefined, headers))
      t.match(standing, { day: { remaining: 1000 - admitted } }, 'what is forbidden is free')
    }
  }

  const { headers } = await key({ plan: 'readers' })
  const post = async () => (await call('POST', '/v1/pets', undefined, headers)).status
  t.equal(await post(), 403)
  const before = config.plans.get('readers')
  const wider: Plan = { name: 'readers', bans: true, limits: before?.limits ?? 'custom' }
  await app.change({ ...config, plans: new Map(config.plans).set('readers', wider) })
  t.equal(await post(), 200, 'a reload acts on the next request')
  await app.change(config)
  t.equal(await post(), 403)
})
