import { prepareOrExit } from './prepare.mjs'
import { findFaketime, findRedis } from './redis.mjs'
import { findReference } from './references.mjs'

/** Prepares the checkout, and finds the programs that tests run; `begun` is called when packages are there. */
export async function prepareTests(begun) {
  process.env.REDIS_SERVER_BIN = await prepareOrExit(findRedis, begun)
  process.env.LIBFAKETIME = findFaketime()
  process.env.NGINX_BIN = findReference('nginx')
  process.env.HAPROXY_BIN = findReference('haproxy')
}
