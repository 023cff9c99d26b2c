import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { Readable } from 'node:stream'
import { Refusal } from '../../shared/refusal.ts'
import { keyChange, newKey, settingsFrom } from '../keys/changes.ts'
import type { Key } from '../keys/key.ts'
import { isWanted, keyView } from '../keys/view.ts'
import { overlapTime } from '../operations/values.ts'
import type { AdminContext } from './context.ts'
import { addWithTypes, jsonTypes, read, requireNothing, textKind, textOf } from './body.ts'
import { isTrue } from './query.ts'

/** What keys come in, from another system. */
const rowTypes = ['text/csv', 'application/x-ndjson', 'text/plain']

const rotated = Type.Object(
  { overlap: Type.Optional(textKind(overlapTime)) },
  { additionalProperties: false, expected: 'an object' },
)

type Listing = {
  Querystring: { plan?: string; account?: string; name?: string; all?: string }
}
type OfKey = { Params: { id: string } }

/** Keys, as the command line has them. */
export function addKeys(app: FastifyInstance, { desks, clock }: AdminContext): void {
  const listing = { config: { parameters: ['plan', 'account', 'name', 'all'] } }
  app.get<Listing>('/admin/keys', listing, async ({ query, admin }, reply) => {
    const wanted = { ...query, all: isTrue('all', query.all) }
    const { keys, quotas } = desks(admin)
    const bans = await quotas.banEnds()
    const view = (key: Key) => keyView(key, clock(), bans.get(key.id))
    const list = await begun(jsonList(keys.list(), (key) => isWanted(key, wanted), view))
    return reply.type('application/json; charset=utf-8').send(list)
  })

  app.post('/admin/keys', async ({ body, admin }, reply) => {
    const given = read(body, newKey)
    const { name, plan } = given
    const { key, token } = await desks(admin).keys.create({ ...settingsFrom(given), name, plan })
    return reply
      .code(201)
      .header('location', `/admin/keys/${key.id}`)
      .send({ id: key.id, key: token, plan: key.plan })
  })

  addWithTypes(app, [...rowTypes, ...jsonTypes], (app) =>
    app.post('/admin/keys/import', { bodyLimit: 64 * 2 ** 20 }, async ({ body, admin }) => ({
      imported: await desks(admin).keys.import(textOf(body)),
    })),
  )

  app.get<OfKey>('/admin/keys/:id', async ({ params, admin }) => {
    const { keys, quotas } = desks(admin)
    return quotas.describe((await keys.find(params.id)).key)
  })

  app.patch<OfKey>('/admin/keys/:id', async ({ params, body, admin }) => {
    const changes = settingsFrom(read(body, keyChange))
    if (Object.keys(changes).length === 0) {
      throw new Refusal('invalid_request', 'Nothing to change is given.')
    }
    const { keys, quotas } = desks(admin)
    const { key } = await keys.find(params.id)
    return quotas.describe(await keys.change(key.id, changes))
  })

  app.post<OfKey>('/admin/keys/:id/rotate', async ({ params, body, admin }) => {
    const { overlap = '24h' } = read(body, rotated)
    const { keys } = desks(admin)
    const { id } = (await keys.find(params.id)).key
    const { key, token } = await keys.rotate(id, overlapTime.read(overlap) ?? 0)
    return { id, key: token, plan: key.plan, oldTokenUntil: keyView(key, clock()).oldTokenUntil }
  })

  app.post<OfKey>('/admin/keys/:id/revoke', async ({ params, body, admin }) => {
    requireNothing(body)
    const { keys, quotas } = desks(admin)
    const { key } = await keys.find(params.id)
    return quotas.describe(await keys.revoke(key.id))
  })

  for (const [what, disabled] of [
    ['disable', true],
    ['enable', false],
  ] as const) {
    app.post<OfKey>(`/admin/keys/:id/${what}`, async ({ params, body, admin }) => {
      requireNothing(body)
      const { keys, quotas } = desks(admin)
      const { key } = await keys.find(params.id)
      return quotas.describe(await keys.setDisabled(key.id, disabled))
    })
  }
}

/** A list in JSON, of however many there are, written as it is read. */
async function* jsonList<Item>(
  items: AsyncIterable<Item>,
  isWanted: (item: Item) => boolean,
  view: (item: Item) => object,
): AsyncGenerator<string, void> {
  let before = '['
  for await (const item of items) {
    if (!isWanted(item)) continue
    yield before + JSON.stringify(view(item))
    before = ',\n'
  }
  yield before === '[' ? '[]' : ']'
}

/** Texts as a stream: what fails before the first rejects, what fails later breaks it off. */
async function begun(texts: AsyncGenerator<string, void>): Promise<Readable> {
  const first = await texts.next()
  const all = async function* () {
    if (!first.done) yield first.value
    yield* texts
  }
  return Readable.from(all())
}
