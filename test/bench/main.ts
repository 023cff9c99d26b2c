import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchBackend } from './backend.ts'
import { chart } from './chart.ts'
import { benchConfig } from './config.ts'
import { benchKeys } from './keys.ts'
import { benchLimits } from './limits.ts'
import type { Row } from './measure.ts'
import { benchProxy } from './proxy.ts'

const benches = {
  proxy: benchProxy,
  backend: benchBackend,
  keys: benchKeys,
  limits: benchLimits,
  config: benchConfig,
}

const help = `Measures processor time, requests a second and latency, side by side, on this machine.

  npm run bench                 everything: rounds of half a second, all contestants in turn
  npm run bench -- proxy        only that; there are ${Object.keys(benches).join(', ')}
  npm run bench -- --quick      what it costs to stand in between, in a minute
  npm run bench -- --rounds 9 --seconds 2 --connections 64
  npm run bench -- proxy --out FOLDER

Writes bench.json, and bench.svg of the proxies, into .cache, or where --out says.
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    connections: { type: 'string', default: '64' },
    out: { type: 'string', default: '.cache' },
    help: { type: 'boolean', short: 'h' },
  },
})
const unknown = positionals.filter((name) => !(name in benches))
if (values.help) process.stdout.write(help)
else if (unknown.length > 0) {
  process.stderr.write(`bench: there is no ${unknown.join(', ')}. See npm run bench -- --help\n`)
  process.exitCode = 2
} else await run()

async function run(): Promise<void> {
  const { quick, out } = values
  const settings = {
    rounds: Number(values.rounds ?? (quick ? 2 : 15)),
    seconds: Number(values.seconds ?? 0.5),
    connections: Number(values.connections),
  }
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  const machine = `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? 'processor'}`
  const date = new Date().toISOString().slice(0, 10)
  say(`${machine}, ${date}, load ${loadavg()[0]?.toFixed(1)}`)
  const wanted = positionals.length > 0 ? positionals : quick ? ['proxy'] : Object.keys(benches)
  const results: Record<string, unknown> = {}
  for (const [name, bench] of Object.entries(benches)) {
    if (!wanted.includes(name)) continue
    say(`\n${name}`)
    results[name] = await bench(settings, say)
  }
  const proxies = results['proxy'] as readonly Row[] | undefined
  const sentence = noiseOf(proxies)
  say(sentence)
  mkdirSync(out, { recursive: true })
  const whole = { machine, date, settings, noise: sentence, results }
  writeFileSync(join(out, 'bench.json'), `${JSON.stringify(whole, null, 2)}\n`)
  if (proxies) {
    const about = `${machine}, ${date}; ${settings.connections} connections, medians of ${settings.rounds} rounds in turn. ${sentence}`
    const title = 'Processor time a request, beside bare Fastify with @fastify/http-proxy'
    writeFileSync(join(out, 'bench.svg'), chart(proxies, title, about))
  }
  say(`Written to ${join(out, 'bench.json')}${proxies ? ` and ${join(out, 'bench.svg')}` : ''}.`)
}

/** Shows how steady the machine was: repeated measurements should agree. */
function noiseOf(rows: readonly Row[] = []): string {
  const [least = NaN, most = NaN] = rows[0]?.cpuSpread ?? []
  const spread = most / least
  if (Number.isNaN(spread)) return 'How noisy the machine was is not known without the proxies.'
  const told = `The reference itself took between ${least.toFixed(0)} and ${most.toFixed(0)} µs`
  if (spread < 1.25) return `${told}: a quiet machine.`
  return `${told}: a noisy machine. Ratios are rough, and times are the neighbours’.`
}
