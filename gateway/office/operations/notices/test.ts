import type { Tested } from '../../notices/notices.ts'
import { ofGateway } from '../operation.ts'
import { aligned } from '../table.ts'

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
