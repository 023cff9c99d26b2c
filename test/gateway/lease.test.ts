import t from 'tap'
import { Lease } from '../../gateway/front/fleet/lease.ts'
import { fleetOfOne } from '../../gateway/front/fleet/single-member.ts'
import { goneMs } from '../../gateway/front/fleet/store.ts'

t.test('one holder has a lease until it leaves it or falls silent', async (t) => {
  let nowMs = 0
  const fleet = fleetOfOne(() => nowMs)
  const leaseOf = (holder: string) =>
    new Lease({ fleet, name: 'work', holder, about: `${holder} works` })
  const [one, other] = [leaseOf('one'), leaseOf('other')]
  t.equal(await one.take(), undefined)
  t.equal(await other.take(), 'one works')
  t.strictSame([one.isHeld, other.isHeld], [true, false])
  await other.leave()
  t.equal(await other.take(), 'one works', 'only its holder can leave it')
  await one.leave()
  t.equal(one.isHeld, false)
  t.equal(await other.take(), undefined)
  nowMs = goneMs
  t.equal(await one.take(), undefined, 'the other one was silent')
  t.equal(await other.take(), 'one works')
  t.equal(other.isHeld, false, 'and hears of it')
})

t.test(
  'while the store can’t be asked, a lease stays with its holder, who may still leave',
  async (t) => {
    const outage = { is: false }
    const asked = <Answer>(answer: Answer): Promise<Answer> =>
      outage.is ? Promise.reject(new Error('out of reach')) : Promise.resolve(answer)
    const fleet = { take: () => asked(undefined), leave: () => asked(undefined) }
    const lease = new Lease({ fleet, name: 'work', holder: 'one', about: 'one works' })
    await lease.take()
    outage.is = true
    await t.rejects(lease.take(), { message: 'out of reach' })
    t.equal(lease.isHeld, true)
    await lease.leave()
    t.equal(lease.isHeld, false)
  },
)
