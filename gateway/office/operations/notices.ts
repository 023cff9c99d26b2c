import { timeText } from '../../../shared/times.ts'
import type { Tested } from '../notices/notices.ts'
import { noticesView, type NoticesView } from '../notices/view.ts'
import { ofGateway, operation } from './operation.ts'
import { aSwitch, newest } from './parameters.ts'
import { aligned } from './table.ts'

export const listNotices = operation({
  name: 'notices list',
  at: ['GET /admin/notices'],
  summary: 'List the addresses of notices, and the notices that have not arrived yet',
  details:
    'Notices that have arrived are removed. One that was given up is kept for seven days, and at most 10,000 are kept for ' +
    'each address.',
  parameters: {
    failed: aSwitch('only notices that were tried, without success'),
    limit: newest('notices'),
  },
  role: 'read',
  run: ({ stores, config }, { failed = false, limit }) =>
    noticesView({ notices: config.notices, store: stores().notices, isFailed: failed, limit }),
  text: ({ addresses, notices }) => {
    if (addresses.length === 0) return 'The configuration has no address for notices.'
    const none = 'No notices are pending.'
    return [addressTable(addresses), '', notices.length > 0 ? table(notices) : none].join('\n')
  },
})

function addressTable(addresses: NoticesView['addresses']): string {
  const rows = addresses.map(({ to, about, waiting, givenUp, dropped, endedAt }) => [
    to,
    about.join(', '),
    ...[waiting, givenUp, dropped],
    endedAt === null ? '' : `answered 410 at ${timeText(Date.parse(endedAt))}`,
  ])
  return aligned([['ADDRESS', 'ABOUT', 'WAITING', 'GIVEN UP', 'DROPPED', 'ENDED'], ...rows])
}

function table(notices: NoticesView['notices']): string {
  const rows = notices.map(({ at, type, to, tries, why, nextTryAt, id }) => [
    timeText(Date.parse(at)),
    type,
    to,
    tries,
    nextTryAt === null ? 'given up' : timeText(Date.parse(nextTryAt)),
    why ?? '',
    id,
  ])
  return aligned([['WHEN', 'EVENT', 'ADDRESS', 'TRIES', 'NEXT', 'LAST TRY', 'ID'], ...rows])
}

export const testNotices = ofGateway({
  name: 'notices test',
  at: ['POST /admin/notices/test'],
  summary: 'Send a test to each address of notices, and show what it answers',
  details:
    'The running gateway sends it once, whatever events the address gets. An address that had answered 410 gets ' +
    'notices again if it takes the test.',
  parameters: {},
  role: 'all',
  run: async ({ gateway }) => (await gateway.office.notices.test()).map(testView),
  isRefused: (tests) => tests.some(({ delivered }) => !delivered),
  text: (tests) => {
    if (tests.length === 0) return 'The configuration has no address for notices.'
    const rows = tests.map(({ to, delivered, why, ms }) => [
      to,
      delivered ? 'arrived' : `failed: ${why}`,
      `${ms} ms`,
    ])
    return aligned(rows)
  },
})

function testView({ to, isDelivered, status, why, ms }: Tested) {
  return { to, delivered: isDelivered, status: status ?? null, why: why ?? null, ms }
}
