import type { FastifyInstance } from 'fastify'
import type { Clock } from '../shared/clock.ts'
import { int64From } from '../shared/int64.ts'
import { shown } from '../shared/json.ts'
import { jsonType, Refusal } from '../shared/refusal.ts'
import { Type } from '../shared/schema.ts'
import { bodyReader } from './body.ts'
import type { Commits } from './commits.ts'
import { rowOf, type Database } from '../shared/sqlite.ts'
import { pageFrom, pageSql, parameter, sendPage, type Page, type Rows } from './page.ts'
import { int64, noSuchPet } from './pets.ts'

const newOrder = Type.Object({ petId: int64 })

/** The operations on `/v1/store/orders`. */
export function addOrders(
  app: FastifyInstance,
  database: Database,
  commits: Commits,
  clock: Clock,
): void {
  const rows = orderRows(database, clock)
  const readNewOrder = bodyReader(newOrder)

  app.get('/v1/store/orders', (request, reply) => {
    const page = pageFrom(request.query)
    return sendPage(
      reply,
      '/v1/store/orders',
      page,
      commits.read(() => rows.list(page)),
    )
  })

  app.post('/v1/store/orders', async (request, reply) => {
    const { petId } = readNewOrder(request.body)
    const { id, body } = await commits.write(() => rows.place(petId))
    return reply.code(201).header('location', `/v1/store/orders/${id}`).type(jsonType).send(body)
  })

  app.get('/v1/store/orders/:orderId', (request, reply) => {
    const text = parameter(request.params, 'orderId') ?? ''
    const id = int64From(text)
    const body = id === undefined ? undefined : commits.read(() => rows.read(id))
    if (!body) throw new Refusal('not_found', `There is no order with the id ${shown(text)}.`)
    return reply.type(jsonType).send(body)
  })
}

function orderRows(database: Database, clock: Clock) {
  const json = `json_object('id', id, 'petId', petId, 'createdAt', createdAt)`
  const statusOf = database.prepare<bigint, string>('SELECT status FROM pets WHERE id = ?').pluck()
  const reserve = database.prepare(`UPDATE pets SET status = 'pending' WHERE id = ?`)
  const insert = database
    .prepare<unknown[], { id: bigint; body: string }>(
      `INSERT INTO orders (petId, createdAt) VALUES (?, ?) RETURNING id, ${json} AS body`,
    )
    .safeIntegers()
  const read = database.prepare<bigint, string>(`SELECT ${json} FROM orders WHERE id = ?`).pluck()
  const list = database.prepare<unknown[], Rows>(pageSql('orders', json)).raw()

  return {
    /** Orders an animal and reserves it: both or neither. */
    place(petId: bigint) {
      const status = statusOf.get(petId)
      if (status === undefined) throw noSuchPet(petId)
      if (status !== 'available') {
        throw new Refusal('conflict', `The animal ${petId} is ${status}, not available.`)
      }
      reserve.run(petId)
      return rowOf(insert.get(petId, new Date(clock()).toISOString()))
    },
    read: (id: bigint) => read.get(id),
    list: (page: Page) => rowOf(list.get(page)),
  }
}
