import { findChromium } from './chromium.mjs'
import { removeLeftovers } from './debian.mjs'
import { prepareOrExit } from './prepare.mjs'
import { findPrometheus } from './prometheus.mjs'
import { findFaketime, findRedis } from './redis.mjs'
import { findReference } from './references.mjs'

/** Prepares the checkout, and finds the programs that tests run; `begun` is called when packages are there. */
export async function prepareTests(begun = () => undefined) {
  // A run that needs to fetch nothing clears up, too.
  removeLeftovers()
  let chromium
  const begin = () => {
    // Fetching takes as long as building, and needs the network more than the processor.
    chromium = findChromium()
    begun()
  }
  process.env.REDIS_SERVER_BIN = await prepareOrExit(findRedis, begin)
  process.env.LIBFAKETIME = await findFaketime()
  process.env.NGINX_BIN = await findReference('nginx')
  process.env.HAPROXY_BIN = await findReference('haproxy')
  const { promtool, prometheus } = await findPrometheus()
  process.env.PROMTOOL_BIN = promtool
  process.env.PROMETHEUS_BIN = prometheus
  process.env.CHROMIUM_BIN = await chromium
}
