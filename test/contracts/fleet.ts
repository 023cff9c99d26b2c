import type { Test } from 'tap'
import { OwnMember } from '../../gateway/front/fleet/own-member.ts'
import type { FleetNews, FleetStore } from '../../gateway/front/fleet/store.ts'

export type MovableFleet = Readonly<{
  fleet: FleetStore
  /** Lets every gateway that has joined tell of itself now. */
  beat: () => Promise<void>
  setTime: (ms: number) => void
}>

const noNews = (news: FleetNews): void => {
  throw new Error(`unexpected news: ${news}`)
}

/** The contract of `FleetStore`, as far as every store of any number of gateways keeps it. */
export function fleetStoreContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<MovableFleet>,
): Promise<unknown> {
  return t.test(`the fleet of a store: ${name}`, async (t) => {
    const { fleet, beat, setTime } = await open(t)
    const startMs = 1_900_000_000_000
    setTime(startMs)
    t.strictSame((await fleet.list()).members, [])

    // A clock of its own, which is an hour late.
    const clock = (): number => startMs - 3_600_000
    const self = new OwnMember({ name: 'edge', worker: 2, pid: 7, clock })
    const file: { mistakes?: string } = {}
    self.fileState = () => {
      const { mistakes } = file
      return { hash: 'abc123', sharedHash: 'def456', loadedAtMs: clock() + 40, mistakes }
    }
    const leave = fleet.join(() => self.memberOf('a store'), noNews)
    await beat()
    const [member, ...others] = (await fleet.list()).members
    t.strictSame(others, [])
    t.match(member, { name: 'edge/2', worker: 2, pid: 7, store: 'a store', version: /^\d+\.\d/ })
    t.match(member?.config, { hash: 'abc123' })
    t.equal(member?.address, undefined, 'it does not listen yet')
    t.equal(fleet.size, 1)
    t.equal(fleet.configs, 1)

    self.address = 'http://127.0.0.1:1'
    file.mistakes = 'x.yaml:14:22: plans must be a section\nx.yaml:15:1: and more'
    await beat()
    const state = await fleet.list()
    t.match(state.members, [
      {
        address: 'http://127.0.0.1:1',
        config: { refusal: 'x.yaml:14:22: plans must be a section' },
      },
    ])
    t.equal(state.silent, 0)

    t.equal(await fleet.take('a lease', 'one', 'about one'), undefined)
    t.equal(await fleet.take('a lease', 'one', 'more about one'), undefined, 'who has it keeps it')
    t.equal(await fleet.take('another', 'two', 'about two'), undefined)
    await fleet.leave('a lease', 'two')
    t.equal(await fleet.take('a lease', 'two', 'about two'), 'more about one')
    await fleet.leave('a lease', 'one')
    t.equal(await fleet.take('a lease', 'two', 'about two'), undefined, 'it is free at once')

    await leave()
    t.strictSame((await fleet.list()).members, [], 'who leaves is gone at once')
    await fleet.close()
  })
}
