import { parseConfig } from '../../gateway/config/load.ts'
import { Gateway } from '../../gateway/server.ts'
import { median } from './rows.ts'

const changes = 15

/** Measures reading a configuration, and putting it in force. */
export async function benchConfig(_settings: object, say: (line: string) => void): Promise<void> {
  for (const routes of [10, 100, 1_000]) {
    const text = (limit: number): string =>
      `plans: { p: { perMinute: 10, perDay: ${limit} } }
upstreams: { a: { targets: ["http://127.0.0.1:9"], health: { every: 1h } } }
routes: [${Array.from({ length: routes }, (_, i) => `{ path: /r${i}/*, upstream: a }`).join()}]
store: { file: ":memory:" }`
    const gateway = await Gateway.open({ config: parseConfig(text(1), {}, 'bench') })
    const [read, changed]: [number[], number[]] = [[], []]
    for (let round = 0; round < changes; round++) {
      const started = performance.now()
      const config = parseConfig(text(round + 2), {}, 'bench')
      const parsed = performance.now()
      await gateway.change(config)
      read.push(parsed - started)
      changed.push(performance.now() - parsed)
      // A file is looked at ten times a second; meanwhile the app before closes, and is let go of.
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await gateway.close()
    const ms = (times: readonly number[]): string => `${median(times).toFixed(1)} ms`
    say(
      `${routes.toLocaleString('en')} routes: read in ${ms(read)}, in force after ${ms(changed)} more`,
    )
  }
}
