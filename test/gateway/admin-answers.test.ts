import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import { json } from '../support/http.ts'

t.test('a method that a path doesn’t have is told with those that it has', async (t) => {
  const { operate } = await startAdmin(t)
  for (const [method, path, allow] of [
    ['POST', '/healthz', 'GET, HEAD'],
    ['DELETE', '/admin/keys', 'GET, HEAD, POST'],
    ['PUT', '/admin/keys/x?x=1', 'GET, HEAD, PATCH'],
    ['GET', '/admin/bans/x', 'DELETE, PUT'],
    ['GET', '/admin/config/reload', 'POST'],
    ['OPTIONS', '/admin/audit', 'GET, HEAD'],
  ] as const) {
    const answer = await operate(method, path)
    t.match(json(answer), { code: 'method_not_allowed', status: 405 }, `${method} ${path}`)
    t.equal(answer.headers['allow'], allow)
  }
  for (const path of ['/', '/admin', '/admin/nothing', '/admin/keys/x/explode', '/healthz/']) {
    t.match(json(await operate('GET', path)), { code: 'not_found', status: 404 }, path)
  }
})
