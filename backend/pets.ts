import type { FastifyInstance, FastifyRequest } from 'fastify'
import { int64From } from '../shared/int64.ts'
import { shown } from '../shared/json.ts'
import { jsonType, Refusal } from '../shared/refusal.ts'
import { Type, type Static } from '../shared/schema.ts'
import { bodyReader } from './body.ts'
import type { Commits } from './commits.ts'
import { nothingThere } from '../shared/unknown-routes.ts'
import { rowOf, type Database } from '../shared/sqlite.ts'
import { pageFrom, pageSql, parameter, sendPage, type Page, type Rows } from './page.ts'

export const petStatuses = ['available', 'pending', 'sold'] as const

const longestName = 255

/** An int64 in a body, in plain digits, so that it comes back digit for digit. */
export const int64 = Type.BigInt({
  minimum: -(2n ** 63n),
  maximum: 2n ** 63n - 1n,
  expected: 'a whole number in plain digits, from -9223372036854775808 to 9223372036854775807',
})

const name = Type.Refine(
  Type.String({ expected: `text of 1 to ${longestName} characters` }),
  (text) => {
    const characters = [...text.trim()].length
    return characters >= 1 && characters <= longestName && text.isWellFormed()
  },
)
const status = Type.Enum([...petStatuses], { expected: `one of ${petStatuses.join(', ')}` })

const newPet = Type.Object({ name, categoryId: int64, status: Type.Optional(status) })
const petChange = Type.Partial(newPet)

type NewPet = Static<typeof newPet>
type PetChange = Static<typeof petChange>

/** The operations on `/v1/pets`. */
export function addPets(app: FastifyInstance, database: Database, commits: Commits): void {
  const rows = petRows(database)
  const readNewPet = bodyReader(newPet)
  const readChange = bodyReader(petChange)

  app.get('/v1/pets', (request, reply) => {
    const page = pageFrom(request.query)
    const status = statusFrom(parameter(request.query, 'status'))
    const listed = commits.read(() => (status ? rows.listByStatus(page, status) : rows.list(page)))
    return sendPage(reply, '/v1/pets', page, listed, status ? `&status=${status}` : '')
  })

  app.post('/v1/pets', async (request, reply) => {
    const pet = readNewPet(request.body)
    const { id, body } = await commits.write(() => rows.insert(pet))
    return reply.code(201).header('location', `/v1/pets/${id}`).type(jsonType).send(body)
  })

  app.get('/v1/pets/:petId', (request, reply) => {
    const id = petIdFrom(request)
    const body = commits.read(() => rows.read(id))
    return reply.type(jsonType).send(body)
  })

  app.put('/v1/pets/:petId', async (request, reply) => {
    const id = petIdFrom(request)
    const pet = readNewPet(request.body)
    const body = await commits.write(() => rows.update(id, { status: 'available', ...pet }))
    return reply.type(jsonType).send(body)
  })

  app.patch('/v1/pets/:petId', async (request, reply) => {
    const id = petIdFrom(request)
    const change = readChange(request.body)
    const body = await commits.write(() => rows.update(id, change))
    return reply.type(jsonType).send(body)
  })

  app.delete('/v1/pets/:petId', async (request, reply) => {
    const id = petIdFrom(request)
    await commits.write(() => rows.remove(id))
    return reply.code(204).send()
  })
}

/** The refusal for an animal that doesn't exist, for any form of id. */
export function noSuchPet(id: string | bigint): Refusal {
  const text = typeof id === 'bigint' ? String(id) : shown(id)
  return new Refusal('not_found', `There is no animal with the id ${text}.`)
}

function petIdFrom(request: FastifyRequest): bigint {
  const text = parameter(request.params, 'petId') ?? ''
  if (text === '') throw nothingThere()
  const id = int64From(text)
  if (id === undefined || id < 1n) throw noSuchPet(text)
  return id
}

function statusFrom(text: string | undefined): string | undefined {
  if (text === undefined || petStatuses.some((status) => status === text)) return text
  const expected = petStatuses.join(', ')
  throw new Refusal('invalid_request', `status must be one of ${expected}, got ${shown(text)}.`)
}

/** The statements on pets. SQLite writes the JSON itself: int64 exact, and a quarter of the cost. */
function petRows(database: Database) {
  const json = `json_object('id', id, 'name', name, 'categoryId', categoryId, 'status', status)`
  const insert = database
    .prepare<unknown[], { id: bigint; body: string }>(
      `INSERT INTO pets (name, categoryId, status) VALUES (?, ?, ?) RETURNING id, ${json} AS body`,
    )
    .safeIntegers()
  const read = database.prepare<bigint, string>(`SELECT ${json} FROM pets WHERE id = ?`).pluck()
  const update = database
    .prepare<unknown[], string>(
      `UPDATE pets SET name = coalesce(?, name), categoryId = coalesce(?, categoryId),
       status = coalesce(?, status) WHERE id = ? RETURNING ${json}`,
    )
    .pluck()
  const remove = database.prepare('DELETE FROM pets WHERE id = ?')
  const list = database.prepare<unknown[], Rows>(pageSql('pets', json)).raw()
  const listByStatus = database
    .prepare<unknown[], Rows>(pageSql('pets', json, 'status = :status AND'))
    .raw()

  return {
    insert: ({ name, categoryId, status }: NewPet) =>
      rowOf(insert.get(name.trim(), categoryId, status ?? 'available')),
    read: (id: bigint) => read.get(id) ?? refuse(noSuchPet(id)),
    update: (id: bigint, { name, categoryId, status }: PetChange) =>
      update.get(name?.trim(), categoryId, status, id) ?? refuse(noSuchPet(id)),
    remove: (id: bigint) => remove.run(id).changes > 0 || refuse(noSuchPet(id)),
    list: (page: Page) => rowOf(list.get(page)),
    listByStatus: (page: Page, status: string) => rowOf(listByStatus.get({ ...page, status })),
  }
}

function refuse(refusal: Refusal): never {
  throw refusal
}
