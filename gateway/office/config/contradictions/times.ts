import {
  duration,
  mistake,
  section,
  warning,
  type Quote,
  type Remark,
  type Section,
} from './remarks.ts'

const minuteMs = 60_000

export function* workerRemarks({ workers, store }: Section): Generator<Remark> {
  const { redis } = section(store)
  const isMany = workers === 'auto' || Number(workers) > 1
  if (isMany && redis === '') {
    yield mistake(
      ['workers'],
      'needs a store in Redis, because only one process can count in a file. Set store.redis, or workers: 1',
    )
  }
}

export function* banRemarks(file: Section, quote: Quote): Generator<Remark> {
  const bans = section(file['bans'])
  const [firstMs, mostMs] = [duration(bans['for']), duration(bans['atMost'])]
  if (firstMs !== undefined && mostMs !== undefined && mostMs < firstMs) {
    const sentence = `must not be shorter than bans.for, which is ${quote(['bans', 'for'])}`
    yield mistake(['bans', 'atMost'], sentence)
  }
  if ((duration(bans['grace']) ?? 0) >= minuteMs) {
    const sentence =
      'is a minute or longer: a key that goes on after its minute is used up is never banned'
    yield warning(['bans', 'grace'], sentence)
  }
  const { strikes } = bans
  const plan = Object.entries(section(file['plans'])).find(([, plan]) => {
    const { perMinute, bans } = section(plan)
    return bans !== 'off' && Number(strikes) < Number(perMinute)
  })
  if (!plan) return
  const sentence =
    `is below what a minute of the plan ${plan[0]} lets in, so that a client which sends twice as much as it may is banned: ` +
    'a share, such as 100%, goes by each key’s limit'
  yield warning(['bans', 'strikes'], sentence)
}

export function* stopRemarks({ drain, shutdown }: Section, quote: Quote): Generator<Remark> {
  const [drainMs, shutdownMs] = [duration(drain), duration(shutdown)]
  if (drainMs === undefined || shutdownMs === undefined || drainMs <= shutdownMs) return
  const sentence = `is longer than shutdown, which is ${quote(['shutdown'])}: requests still in flight after shutdown are cut`
  yield warning(['drain'], sentence)
}
