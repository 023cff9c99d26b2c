import t from 'tap'
import { RecentRefusals } from '../../../gateway/front/counts/recent-refusals.ts'
import { fleetOfOne } from '../../../gateway/front/fleet/single-member.ts'
import { ownQuestions } from '../../../gateway/front/fleet/questions.ts'
import { OwnMember } from '../../../gateway/front/fleet/own-member.ts'
import { LiveCounts } from '../../../gateway/front/counts/live-counts.ts'
import { Watching } from '../../../gateway/office/live/watching.ts'
import { until } from '../../support/until.ts'

t.test('a fault in a round of live figures ends neither the rounds nor the process', async (t) => {
  const self = new OwnMember({ name: 'edge-1' })
  const told: unknown[] = []
  let [faults, heard] = [0, 0]
  const watching = new Watching({
    counts: new LiveCounts({ clock: Date.now, routes: new Map() }),
    recentRefusals: new RecentRefusals(0),
    self: () => {
      if (faults < 2) throw new Error(`fault ${++faults}`)
      return self.memberOf('a store')
    },
    ...{ isReachable: () => true, targets: () => [] },
    ...{ questions: ownQuestions(), fleet: fleetOfOne(), days: { without: async () => [] } },
    failed: (error) => void told.push(error),
  })
  t.teardown(() => watching.close())
  const watcher = watching.watch('15m', () => heard++)
  await until(() => heard === 2)
  t.equal(faults, 2)
  t.match(
    told,
    [{ message: 'fault 2' }],
    'the first one is that of the answer, which it does without',
  )
  t.equal(told.length, 1, 'told once in a row')
  t.match(watcher.take(), { name: 'past', snapshot: { gateways: { told: 1, names: ['edge-1'] } } })
})
