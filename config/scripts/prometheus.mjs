import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { NotHere, unpackDebian } from './debian.mjs'
import { findOnPath } from './shared.mjs'

/**
 * promtool and prometheus, to test alerts and dashboard with: those that PROMTOOL_BIN and PROMETHEUS_BIN name, or those on
 * the path, or Debian's, unpacked into this checkout. Empty where they can't be had: the tests that need them then fail.
 */
export async function findPrometheus() {
  const promtool = process.env.PROMTOOL_BIN || findOnPath(['promtool'])
  const prometheus = process.env.PROMETHEUS_BIN || findOnPath(['prometheus'])
  if (promtool && prometheus) return { promtool, prometheus }
  try {
    const folder = join(await unpackDebian('prometheus', ['prometheus']), 'usr/bin')
    const unpacked = (name) => (existsSync(join(folder, name)) ? join(folder, name) : '')
    return {
      promtool: promtool || unpacked('promtool'),
      prometheus: prometheus || unpacked('prometheus'),
    }
  } catch (error) {
    if (!(error instanceof NotHere)) throw error
    process.stderr.write(`Prometheus can't be fetched here (${error.message}).\n`)
    return { promtool, prometheus }
  }
}
