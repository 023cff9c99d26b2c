import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { Readable } from 'node:stream'
import { Refusal } from '../../shared/refusal.ts'
import { durationFrom } from '../config/units.ts'
import type { Key } from '../keys/key.ts'
import { keyView } from '../keys/view.ts'
import type { AdminContext } from './context.ts'
import { addWithTypes, jsonTypes, read, requireNothing, textOf } from './body.ts'
import { changed, created, settingsFrom } from './key-settings.ts'
import { isTrue } from './query.ts'

/** What keys come in, from another system. */
const rowTypes = ['text/csv', 'application/x-ndjson', 'text/plain']

const duration = Type.Refine(
  Type.String({ expected: '0 or a duration such as 24h' }),
  (value) => value === '0' || durationFrom(value) !== undefined,
  () => 'must be 0 or a duration such as 24h',
)
const rotated = Type.Object(
  { overlap: Type.Optional(duration) },
  { additionalProperties: false, expected: 'an object' },
)

type Listing = { Querystring: { plan?: string; account?: string; all?: string } }
type OfKey = { Params: { id: string } }

/** Keys, as the command line has them. */
export function addKeys(app: FastifyInstance, { desks, clock }: AdminContext): void {
  const view = (key: Key) => keyView(key, clock())

  const listing = { config: { parameters: ['plan', 'account', 'all'] } }
  app.get<Listing>('/admin/keys', listing, async ({ query, admin }, reply) => {
    const { plan, account } = query
    const all = isTrue('all', query.all)
    const isWanted = (key: Key): boolean =>
      (plan ?? key.plan) === key.plan &&
      (account ?? key.account) === key.account &&
      (all || key.revokedAtMs === undefined)
    const list = await begun(jsonList(desks(admin).keys.list(), isWanted, view))
    return reply.type('application/json; charset=utf-8').send(list)
  })

  app.post('/admin/keys', async ({ body, admin }, reply) => {
    const given = read(body, created)
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

  app.get<OfKey>('/admin/keys/:id', async ({ params, admin }) =>
    view(await desks(admin).keys.show(params.id)),
  )

  app.patch<OfKey>('/admin/keys/:id', async ({ params, body, admin }) => {
    const changes = settingsFrom(read(body, changed))
    if (Object.keys(changes).length === 0) {
      throw new Refusal('invalid_request', 'Nothing to change is given.')
    }
    return view(await desks(admin).keys.change(params.id, changes))
  })

  app.post<OfKey>('/admin/keys/:id/rotate', async ({ params, body, admin }) => {
    const { overlap = '24h' } = read(body, rotated)
    const overlapMs = overlap === '0' ? 0 : (durationFrom(overlap) ?? 0)
    const { key, token } = await desks(admin).keys.rotate(params.id, overlapMs)
    return { id: key.id, key: token, plan: key.plan, oldTokenUntil: view(key).oldTokenUntil }
  })

  app.post<OfKey>('/admin/keys/:id/revoke', async ({ params, body, admin }) => {
    requireNothing(body)
    return view(await desks(admin).keys.revoke(params.id))
  })

  for (const [what, disabled] of [
    ['disable', true],
    ['enable', false],
  ] as const) {
    app.post<OfKey>(`/admin/keys/:id/${what}`, async ({ params, body, admin }) => {
      requireNothing(body)
      return view(await desks(admin).keys.setDisabled(params.id, disabled))
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
