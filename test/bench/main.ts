import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { benchBackend } from './backend.ts'
import { benchConfig } from './config.ts'
import { benchKeys } from './keys.ts'
import { benchLimits } from './limits.ts'
import { benchProxy } from './proxy.ts'

const benches = {
  backend: benchBackend,
  keys: benchKeys,
  limits: benchLimits,
  config: benchConfig,
  proxy: benchProxy,
}

const help = `Measures processor time, requests a second and latency, side by side, on this machine.

  npm run bench                 everything, three rounds of three seconds each
  npm run bench -- backend      only that; there are ${Object.keys(benches).join(', ')}
  npm run bench -- --quick      one short round
  npm run bench -- --rounds 5 --seconds 4 --connections 64
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    connections: { type: 'string', default: '64' },
    help: { type: 'boolean', short: 'h' },
  },
})
if (values.help) {
  process.stdout.write(help)
} else {
  const settings = {
    rounds: Number(values.rounds ?? (values.quick ? 1 : 3)),
    seconds: Number(values.seconds ?? (values.quick ? 2 : 3)),
    connections: Number(values.connections),
  }
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  say(
    `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}`,
  )
  for (const [name, bench] of Object.entries(benches)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue
    say(`\n${name}`)
    await bench(settings, say)
  }
}
