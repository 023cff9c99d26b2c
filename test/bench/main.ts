import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchBackend } from './backend.ts'
import { benchKeys } from './keys.ts'
import { benchLatency } from './latency.ts'
import { benchLimits } from './limits.ts'
import { benchMemory } from './memory.ts'
import { pictureOf } from './pictures.ts'
import { benchProfile } from './profile.ts'
import { benchProve } from './prove.ts'
import { benchProxy } from './proxy.ts'
import { benchReload } from './reload.ts'
import { spreadOfReference } from './rows.ts'
import { benchScale } from './scale.ts'
import { benchStalls } from './stalls.ts'
import { benchTls } from './tls.ts'
import { Witness } from './witness.ts'

const benches = {
  proxy: benchProxy,
  tls: benchTls,
  backend: benchBackend,
  keys: benchKeys,
  limits: benchLimits,
  latency: benchLatency,
  stalls: benchStalls,
  reload: benchReload,
  memory: benchMemory,
  scale: benchScale,
  profile: benchProfile,
  prove: benchProve,
}

const help = `Measures CPU time, requests a second and latency, side by side, on this machine.

  npm run bench                 everything: rounds of half a second, all contestants in turn
  npm run bench -- proxy        only that; there are ${Object.keys(benches).join(', ')}
  npm run bench -- --quick      what it costs to stand in between, in a minute
  npm run bench -- --rounds 9 --seconds 2 --connections 64
  npm run bench -- proxy --out FOLDER
  npm run bench -- proxy --noisy    prints its tables also if the machine was busy

Of each part it writes PART.json, its tables as PART.md, and a picture of proxy, latency and
profile as PART.svg, into .cache/bench, or where --out says. On a machine that was busy there is PART.json
alone: its figures aren't the contestants' alone.
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    connections: { type: 'string', default: '64' },
    out: { type: 'string', default: '.cache/bench' },
    noisy: { type: 'boolean', default: false },
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
  const { quick, out, noisy } = values
  const settings = {
    rounds: Number(values.rounds ?? (quick ? 2 : 20)),
    seconds: Number(values.seconds ?? 0.5),
    connections: Number(values.connections),
  }
  const machine = `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? 'processor'}`
  const date = new Date().toISOString().slice(0, 10)
  const about = `${machine}, ${date}; ${settings.connections} connections, ${settings.rounds} rounds in turn.`
  const tell = (line: string): void => void process.stderr.write(`${line}\n`)
  const wanted = positionals.length > 0 ? positionals : quick ? ['proxy'] : Object.keys(benches)
  mkdirSync(out, { recursive: true })
  for (const [name, bench] of Object.entries(benches)) {
    if (!wanted.includes(name)) continue
    const told: string[] = []
    const say = (line: string): void => void told.push(line)
    const witness = await Witness.beside()
    const progress = (line: string): void => {
      tell(line)
      witness.look()
    }
    say(`\n${name}: ${about} Load of the machine before: ${loadavg()[0]?.toFixed(1)}.`)
    const results = await bench(settings, say, progress)
    const { isQuiet, sentence } = witness.verdict(spreadOfReference(results))
    say(`\n${sentence}`)
    const write = (ending: string, text: string): void => {
      writeFileSync(join(out, `${name}.${ending}`), text)
    }
    write(
      'json',
      `${JSON.stringify({ machine, date, settings, isQuiet, sentence, results }, null, 2)}\n`,
    )
    if (!isQuiet && !noisy) {
      tell(
        `bench: no tables of ${name}. ${sentence} Repeat it in a quiet hour, or see them with --noisy.`,
      )
      process.exitCode = 1
      continue
    }
    process.stdout.write(`${told.join('\n')}\n`)
    const picture = pictureOf(name, results, about)
    if (picture) write('svg', picture)
    write('md', `${told.join('\n').trim()}\n`)
  }
  tell(`Written to ${out}.`)
}
