import Fastify from 'fastify'
import proxy from '@fastify/http-proxy'
import { serve } from '../shared/serve.ts'

const app = Fastify({ logger: true })
await app.register(proxy, {
  upstream: 'http://127.0.0.1:8090',
  prefix: '/v1',
  rewritePrefix: '/v1',
})
await serve(app, process, { host: '127.0.0.1', port: 8080 })
