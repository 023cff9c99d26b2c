import type { NoticeSettings } from '../../front/config/config.ts'
import { digest } from '../../front/records/notice.ts'
import type { QueueName } from '../../front/records/notice-store.ts'
import { isAbout, type NoticeType } from '../../front/records/notice-types.ts'

/** An address of the configuration, with the name of its queue: another entry with the same URL is the same queue. */
export type NoticeAddress = Readonly<{
  settings: NoticeSettings
  queue: QueueName
  /** Its URL for people, without the path: that may hold a secret. */
  shown: string
}>

export function addressesOf(notices: readonly NoticeSettings[]): readonly NoticeAddress[] {
  return notices.map((settings) => {
    const url = new URL(settings.to)
    const { to, secrets, about, allow } = settings
    const version = digest([to, secrets, about, allow].map((part) => JSON.stringify(part)))
    const shown = url.pathname === '/' && url.search === '' ? url.origin : `${url.origin}/…`
    return { settings, queue: { id: digest([url.href]), version }, shown }
  })
}

/** The queues of those who want to hear of an event. */
export function queuesFor(
  addresses: readonly NoticeAddress[],
  type: NoticeType,
): readonly QueueName[] {
  return addresses.flatMap(({ settings, queue }) => (isAbout(settings.about, type) ? queue : []))
}
