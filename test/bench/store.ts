import Fastify, { type FastifyInstance } from 'fastify'
import { createBackend } from '../../backend/app.ts'
import { openDatabase } from '../../backend/database.ts'
import { jsonType } from '../../shared/refusal.ts'

// One contestant of the backend's benchmark, in a process of its own: store.js KIND FILE

const [kind = '', file = ''] = process.argv.slice(2)
const pet = '{"id":1,"name":"Rex 1","categoryId":9007199254740993,"status":"available"}'
const constants: Record<string, string> = { pet, list: `[${Array(20).fill(pet).join(',')}]` }

const constant = constants[kind]
const app = constant === undefined ? store() : bare(constant)
process.send?.({ listening: await app.listen({ host: '127.0.0.1', port: 0 }) })

function bare(body: string): FastifyInstance {
  const app = Fastify()
  app.get('/', (_request, reply) => reply.type(jsonType).send(body))
  return app
}

function store(): FastifyInstance {
  return createBackend({ database: openDatabase(file), batched: kind !== 'alone' })
}
