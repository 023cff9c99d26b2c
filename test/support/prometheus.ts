import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { caller, json } from './http.ts'
import { root } from './process.ts'
import { atSomePort } from './redis.ts'
import { until } from './until.ts'

/** One series of an answer: its labels, and its value now. */
export type Sample = Readonly<{ metric: Record<string, string>; value: readonly [number, string] }>

export type Prometheus = Readonly<{
  /** The series of a query as they are now; throws if it can't be parsed. */
  query: (promql: string) => Promise<Sample[]>
  /** The names of the alerts that are pending or fire. */
  alerts: () => Promise<Set<string>>
}>

/** Where `npm test` has found or put a program of Prometheus; without it these tests fail, they are not skipped. */
function binaryOf(name: 'prometheus' | 'promtool'): string {
  const named = process.env[`${name.toUpperCase()}_BIN`]
  if (named) return named
  const unpacked = join(root, '.cache/prometheus/root/usr/bin', name)
  if (existsSync(unpacked)) return unpacked
  throw new Error(
    `There is no ${name}. Install prometheus, or set ${name.toUpperCase()}_BIN; npm test fetches Debian's where it can.`,
  )
}

/** Runs promtool; gives its exit code and all that it prints. */
export async function promtool(...args: string[]): Promise<{ code: number; output: string }> {
  const child = spawn(binaryOf('promtool'), args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text: Buffer) => (output += text.toString()))
  }
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}

/** A real Prometheus of the test's own, which looks at gateways every 200 ms and goes by a file of rules. */
export async function startPrometheus(
  t: Test,
  { folder, rules, targets }: { folder: string; rules: string; targets: readonly string[] },
): Promise<Prometheus> {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'prometheus.json')
  const config = {
    global: { scrape_interval: '200ms', scrape_timeout: '200ms', evaluation_interval: '200ms' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'tollgate', static_configs: [{ targets }] }],
  }
  writeFileSync(file, JSON.stringify(config))
  const call = await atSomePort(async (port) => {
    const address = `127.0.0.1:${port}`
    const child = spawn(
      binaryOf('prometheus'),
      [
        ...[`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'data')}`],
        ...[`--web.listen-address=${address}`, '--log.level=error'],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    t.teardown(async () => {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    })
    let output = ''
    child.stderr.on('data', (text: Buffer) => (output += text.toString()))
    const call = caller(`http://${address}`)
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`prometheus ended: ${output}`)
      const answer = await call('GET', '/-/ready').catch(() => undefined)
      return answer?.status === 200
    }, 30_000)
    return call
  })
  const query: Prometheus['query'] = async (promql) => {
    const { status, text } = await call('GET', `/api/v1/query?query=${encodeURIComponent(promql)}`)
    if (status !== 200) throw new Error(`${promql}: ${text}`)
    return (json(text)['data'] as { result: Sample[] }).result
  }
  return {
    query,
    alerts: async () => {
      const found = json(await call('GET', '/api/v1/alerts'))['data'] as {
        alerts: { labels: { alertname: string } }[]
      }
      return new Set(found.alerts.map(({ labels }) => labels.alertname))
    },
  }
}
