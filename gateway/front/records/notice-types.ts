/** The events that notices tell of. */
const noticeTypes = [
  'key.near_limit',
  'key.limit_reached',
  'quota.beyond',
  'quota.prepaid_low',
  'quota.prepaid_empty',
  'key.banned',
  'key.ban_lifted',
  'key.created',
  'key.changed',
  'key.rotated',
  'key.revoked',
  'key.expiring',
  'upstream.target_out',
  'upstream.target_back',
  'upstream.swap_back',
  'upstream.swapped',
  'gateways.differ',
  'store.emptied',
  'operation.sunset_near',
  'certificate.ends',
] as const

/** An event, or the test that operators send. */
export type NoticeType = (typeof noticeTypes)[number] | 'notices.test'

const groups = [
  'key',
  'quota',
  'upstream',
  'gateways',
  'store',
  'operation',
  'certificate',
] as const

/** The words of `about`: all events, all of a group, or one. */
export const noticeWords = [
  '*',
  ...groups.map((group) => `${group}.*` as const),
  ...noticeTypes,
] as const

/** Whether words of `about` name an event. */
export function isAbout(words: readonly string[], type: NoticeType): boolean {
  const group = `${type.slice(0, type.indexOf('.'))}.*`
  return words.some((word) => word === '*' || word === type || word === group)
}
