import { dirname } from 'node:path'
import { pairFor } from '../support/certificate.ts'
import { measure, type Contestant, type Say, type Settings } from './measure.ts'
import { nginx } from './others.ts'
import { lend } from './redis.ts'
import { cpuOf, within, type Row } from './rows.ts'
import { withStage, type Stage } from './stage.ts'
import { tableOf, whole } from './tables.ts'

type Pair = Pick<ReturnType<typeof pairFor>, 'cert' | 'key' | 'yaml'>

/** Measures a forwarded request of callers who come by TLS, and of others, beside nginx with the same certificate. */
export async function benchTls(
  settings: Settings,
  say: Say,
  progress: Say,
): Promise<readonly Row[]> {
  let rows: readonly Row[] = []
  await lend(async (t) => {
    const pair = pairFor(t)
    await withStage(async (stage) => {
      rows = await measure(await contestantsByTls(stage, pair), settings, progress)
    })
  })
  say(`\n${tlsTable(rows)}`)
  return rows
}

/** Callers by TLS 1.3 and in plain text, on kept connections; the backend is asked in plain text. */
export async function contestantsByTls(
  stage: Pick<Stage, 'upstream' | 'known' | 'embedded' | 'nginx'>,
  pair: Pair,
): Promise<Contestant[]> {
  const about = { request: stage.known, status: 200 }
  const ours = (name: string, { server }: Stage['embedded'], rival: string): Contestant => {
    return { name, server, rival, ...about }
  }
  const byTls = await nginx(stage.upstream, dirname(pair.cert), pair)
  const theirs = [
    { name: 'nginx, TLS', server: byTls, ...about },
    { name: 'nginx, plain', server: stage.nginx, ...about },
  ].flatMap(({ server, ...rest }): Contestant[] => (server ? [{ server, ...rest }] : []))
  return [
    ...theirs,
    ours('Tollgate, TLS', stage.embedded.copy('tls', { tls: pair.yaml }), 'nginx, TLS'),
    ours('Tollgate, plain', stage.embedded, 'nginx, plain'),
  ]
}

export function tlsTable(rows: readonly Row[]): string {
  return tableOf(rows, [
    ['forwarded, callers by TLS or not', ({ name }) => name],
    ['CPU µs a request (least–most)', cpuOf],
    ['beside nginx with the same', besideNginx],
    ['requests/s', ({ perSecond }) => whole(perSecond)],
    ['p50 ms', ({ p50Ms }) => p50Ms.toFixed(1)],
    ['p99 ms', ({ p99Ms }) => p99Ms.toFixed(1)],
  ])
}

/** The ratio with its interval, unless the rounds can't tell which of the two takes more. */
function besideNginx({ rivalRatio, rivalInterval }: Row): string {
  if (rivalRatio === undefined || rivalInterval === undefined) return ''
  const [least, most] = rivalInterval
  if (!(least > 1 || most < 1)) return 'not resolved'
  return within(rivalRatio, rivalInterval)
}
