import {
  duration,
  mistake,
  section,
  warning,
  type Quote,
  type Saying,
  type Section,
} from './saying.ts'

const minuteMs = 60_000

export function* workerSayings({ workers, store }: Section): Generator<Saying> {
  const { redis } = { redis: '', ...section(store) }
  const isMany = workers === 'auto' || Number(workers) > 1
  if (isMany && redis === '') {
    yield mistake(
      ['workers'],
      'needs a store in Redis: what is counted in a file is counted by one process. Set store.redis, or workers: 1',
    )
  }
}

export function* banSayings(file: Section, quote: Quote): Generator<Saying> {
  const bans: Section = { for: '5m', atMost: '1h', grace: '1s', ...section(file['bans']) }
  const [firstMs, mostMs] = [duration(bans['for']), duration(bans['atMost'])]
  if (firstMs !== undefined && mostMs !== undefined && mostMs < firstMs) {
    const written = quote(['bans', 'for']) || '5m'
    yield mistake(['bans', 'atMost'], `must not be shorter than bans.for, which is ${written}`)
  }
  if ((duration(bans['grace']) ?? 0) >= minuteMs) {
    const sentence =
      'is a minute or longer: who goes on after its minute is used up is never banned'
    yield warning(['bans', 'grace'], sentence)
  }
}

export function* stopSayings(file: Section, quote: Quote): Generator<Saying> {
  const { drain, shutdown }: Section = { drain: '3s', shutdown: '15s', ...file }
  const [drainMs, shutdownMs] = [duration(drain), duration(shutdown)]
  if (drainMs === undefined || shutdownMs === undefined || drainMs <= shutdownMs) return
  const written = quote(['shutdown']) || '15s'
  const sentence = `is longer than shutdown, which is ${written}: requests that are in flight after it are cut`
  yield warning(['drain'], sentence)
}
