import { iso } from '../../../shared/times.ts'
import { addressesOf, type NoticeAddress } from './addresses.ts'
import type { Config } from '../../front/config/config.ts'
import type { NoticeStore, Queued, QueueState } from '../../front/records/notice-store.ts'

type Asked = Readonly<{
  notices: Config['notices']
  store: NoticeStore
  /** Whether only those are wanted that didn't arrive at the last try. */
  isFailed: boolean
  limit: number
}>

/** The addresses of a configuration with their queues, and the newest notices in these. */
export async function noticesView({ notices, store, isFailed, limit }: Asked) {
  const addresses = addressesOf(notices)
  const views: ReturnType<typeof noticeView>[] = []
  const seen: ReturnType<typeof addressView>[] = []
  const queues = await store.look(addresses.map(({ queue }) => queue))
  for (const [i, queue] of queues.entries()) {
    const address = addresses[i]
    if (!address) continue
    seen.push(addressView(queue, address))
    const found: Queued[] = []
    for await (const some of queue.notices) {
      found.push(...some.filter(({ tries }) => tries > 0 || !isFailed))
      if (found.length >= limit) break
    }
    views.push(...found.slice(0, limit).map((notice) => noticeView(notice, address)))
  }
  views.sort((a, b) => (a.at < b.at ? 1 : -1))
  return { addresses: seen, notices: views.slice(0, limit) }
}

export type NoticesView = Awaited<ReturnType<typeof noticesView>>

function addressView(queue: QueueState, { settings, shown }: NoticeAddress) {
  const { waiting, givenUp, dropped, endedAtMs } = queue
  const endedAt = iso(endedAtMs) ?? null
  return { to: shown, about: settings.about, waiting, givenUp, dropped, endedAt }
}

function noticeView(notice: Queued, { shown }: NoticeAddress) {
  const { id, type, atMs, tries, lastTriedAtMs, why, isGivenUp = false } = notice
  const { nextTryMs = lastTriedAtMs ?? atMs } = notice
  return {
    id,
    type,
    to: shown,
    at: iso(atMs),
    tries,
    lastTriedAt: iso(lastTriedAtMs) ?? null,
    why: why ?? null,
    nextTryAt: isGivenUp ? null : iso(nextTryMs),
  }
}
