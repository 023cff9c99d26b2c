import { findChromium } from './chromium.mjs'
import { removeLeftovers } from './debian.mjs'
import { prepareOrExit } from './prepare.mjs'
import { findFaketime, findProgram, findRedis, variableOf } from './programs.mjs'
import { SetupError } from './shared.mjs'

/**
 * Finds the Redis that tests run, or fetches it; gives the sentence that says why there is none. Where it is needed, that
 * ends this process.
 */
export async function findTestRedis({ isNeeded = true } = {}) {
  // A run that needs to fetch nothing clears up, too.
  removeLeftovers()
  return prepareOrExit({ forTests: true }, async () => {
    try {
      process.env.REDIS_SERVER_BIN = await findRedis()
      return undefined
    } catch (error) {
      if (isNeeded || !(error instanceof SetupError)) throw error
      return error.message
    }
  })
}

/** Finds the other programs that tests run, and fetches those that aren't here. */
export async function findTestTools() {
  // Chromium takes longest.
  const chromium = findChromium()
  process.env.LIBFAKETIME = await findFaketime()
  const names = ['nginx', 'caddy', 'haproxy', 'promtool', 'prometheus', 'go']
  for (const name of [...names, 'postgres', 'initdb']) {
    process.env[variableOf(name)] = await findProgram(name)
  }
  process.env.CHROMIUM_BIN = await chromium
}
