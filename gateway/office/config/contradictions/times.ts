import { minuteMs } from '../../../../shared/windows.ts'
import { duration, mistake, warning, type Checked, type Remark } from './remarks.ts'

export function* workerRemarks({ file: { workers, store } }: Checked): Generator<Remark> {
  const isMany = workers === 'auto' || Number(workers) > 1
  if (isMany && store?.redis === '') {
    yield mistake(
      ['workers'],
      'needs a store in Redis, because only one process can count in a file. Set store.redis, or workers: 1',
    )
  }
}

export function* banRemarks({ file, quote }: Checked): Generator<Remark> {
  const { bans = {}, plans = {} } = file
  const [firstMs, mostMs] = [duration(bans.for), duration(bans.atMost)]
  if (firstMs !== undefined && mostMs !== undefined && mostMs < firstMs) {
    const sentence = `must not be shorter than bans.for, which is ${quote(['bans', 'for'])}`
    yield mistake(['bans', 'atMost'], sentence)
  }
  if ((duration(bans.grace) ?? 0) >= minuteMs) {
    const sentence =
      'is a minute or longer: a key that goes on after its minute is used up is never banned'
    yield warning(['bans', 'grace'], sentence)
  }
  const plan = Object.entries(plans).find(
    ([, plan]) => plan?.bans !== 'off' && Number(bans.strikes) < Number(plan?.perMinute),
  )
  if (!plan) return
  const sentence =
    `is below what a minute of the plan ${plan[0]} lets in, so that a client which sends twice as much as it may is banned: ` +
    'a share, such as 100%, goes by each key’s limit'
  yield warning(['bans', 'strikes'], sentence)
}

export function* stopRemarks({ file: { drain, shutdown }, quote }: Checked): Generator<Remark> {
  const [drainMs, shutdownMs] = [duration(drain), duration(shutdown)]
  if (drainMs === undefined || shutdownMs === undefined || drainMs <= shutdownMs) return
  const sentence = `is longer than shutdown, which is ${quote(['shutdown'])}: requests still in flight after shutdown are cut`
  yield warning(['drain'], sentence)
}
