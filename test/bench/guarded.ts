import Fastify from 'fastify'
import { setFlagsFromString } from 'node:v8'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { hashOf, keyIdOf } from '../../gateway/front/keys/token.ts'
import { tollgate } from '../../gateway/plugin.ts'
import { openStores } from '../../gateway/front/stores/open.ts'

// A route that answers a constant, bare or behind a key: guarded.js bare|guarded TOKEN

const [kind = '', token = ''] = process.argv.slice(2)
const yaml = `
plans: { free: { perMinute: unlimited, perDay: unlimited } }
strangers: { perMinute: unlimited, perDay: unlimited }
upstreams: { none: { targets: ["http://127.0.0.1:9"] } }
routes: []
store: { file: ":memory:" }
`

// As the gateway does for itself: else one start in twenty is measured at 1.6 times its cost.
setFlagsFromString('--no-allocation-site-pretenuring')
const app = Fastify()
if (kind === 'guarded') {
  const config = parseConfig(yaml, {}, 'bench')
  const stores = await openStores(config.store)
  const secrets = [{ hash: hashOf(token) }]
  await stores.keys.add([
    { id: keyIdOf(token), name: 'bench', plan: 'free', createdAtMs: 0, secrets },
  ])
  await app.register(tollgate, { loaded: config, stores })
}
app.get('/', { config: { tollgate: kind === 'guarded' } }, (_request, reply) =>
  reply
    .type('application/json')
    .send('{"constant":"of some length, as an answer of an interface is"}'),
)
process.send?.({ listening: await app.listen({ host: '127.0.0.1', port: 0 }) })
