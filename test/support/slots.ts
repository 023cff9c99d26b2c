import type { Redis } from 'ioredis'
import type { RedisCluster } from './redis.ts'

/**
 * Hands the slot of a name from one node of a Cluster to the next, with what is in it, as an operator
 * would, again and again; gives what ends that and tells how often it was done.
 */
export async function moveSlot(
  { nodes, clients }: RedisCluster,
  name: string,
): Promise<() => Promise<number>> {
  const slot = Number(await clients[0]?.call('CLUSTER', 'KEYSLOT', name))
  const ids = await Promise.all(
    clients.map(async (client) => String(await client.call('CLUSTER', 'MYID'))),
  )
  let isMoving = true
  let moves = 0
  const setSlot = async (at: number, ...what: string[]) =>
    clients[at]?.call('CLUSTER', 'SETSLOT', slot, ...what)
  const owners = () => Promise.all(clients.map((client) => ownerOf(client, slot)))
  const move = async (): Promise<void> => {
    while (isMoving) {
      await new Promise((go) => setTimeout(go, 20))
      const [owner = '', ...others] = await owners()
      // Not before all have heard of the last move.
      if (others.some((other) => other !== owner)) continue
      const from = ids.indexOf(owner)
      const to = (from + 1) % nodes.length
      const next = ids[to] ?? ''
      await setSlot(to, 'IMPORTING', owner)
      await setSlot(from, 'MIGRATING', next)
      const [host = '', port = ''] = (nodes[to] ?? '').split(':')
      await clients[from]?.call('MIGRATE', host, port, name, 0, 5_000, 'REPLACE')
      for (const at of [to, from]) await setSlot(at, 'NODE', next)
      moves++
    }
  }
  const moved = move()
  moved.catch(() => undefined)
  return async () => {
    isMoving = false
    await moved
    return moves
  }
}

/** Whose a slot is, as one node has it. */
async function ownerOf(client: Redis, slot: number): Promise<string> {
  const ranges = (await client.call('CLUSTER', 'SLOTS')) as [
    number,
    number,
    [string, number, string],
  ][]
  const range = ranges.find(([first, last]) => first <= slot && slot <= last)
  return range?.[2][2] ?? ''
}
