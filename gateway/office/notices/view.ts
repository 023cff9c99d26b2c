import { iso } from '../../../shared/times.ts'
import { addressesOf, type NoticeAddress } from './addresses.ts'
import type { Config } from '../../front/config/config.ts'
import type { NoticeStore, Queued } from '../../front/records/notice-store.ts'

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
  for (const address of addresses) {
    let left = limit
    for await (const notice of store.list(address.queue)) {
      if (isFailed && notice.tries === 0) continue
      views.push(noticeView(notice, address))
      if (--left === 0) break
    }
  }
  views.sort((a, b) => (a.at < b.at ? 1 : -1))
  return {
    addresses: await Promise.all(addresses.map((address) => addressView(store, address))),
    notices: views.slice(0, limit),
  }
}

export type NoticesView = Awaited<ReturnType<typeof noticesView>>

async function addressView(store: NoticeStore, { queue, settings, shown }: NoticeAddress) {
  const { waiting, givenUp, dropped, endedAtMs } = await store.stateOf(queue)
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
