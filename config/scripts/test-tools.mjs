import { findChromium } from './chromium.mjs'
import { removeLeftovers } from './debian.mjs'
import { prepareOrExit } from './prepare.mjs'
import { findPrometheus } from './prometheus.mjs'
import { findFaketime, findRedis } from './redis.mjs'
import { findReference } from './references.mjs'
import { findShell } from './shells.mjs'

/** Finds the programs that tests run, and fetches those that aren't here. */
export async function findTestTools() {
  // A run that needs to fetch nothing clears up, too.
  removeLeftovers()
  // It takes longest.
  const chromium = findChromium()
  process.env.REDIS_SERVER_BIN = await prepareOrExit({ forTests: true }, findRedis)
  process.env.LIBFAKETIME = await findFaketime()
  process.env.NGINX_BIN = await findReference('nginx')
  process.env.HAPROXY_BIN = await findReference('haproxy')
  process.env.ZSH_BIN = await findShell('zsh')
  process.env.FISH_BIN = await findShell('fish')
  const { promtool, prometheus } = await findPrometheus()
  process.env.PROMTOOL_BIN = promtool
  process.env.PROMETHEUS_BIN = prometheus
  process.env.CHROMIUM_BIN = await chromium
}
