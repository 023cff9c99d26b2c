import { StoreUnavailable } from '../../../../shared/store-errors.ts'
import type { Ban, QuotaStore } from '../../limits/store.ts'
import { answerOf } from './answer.ts'
import { packedLimits } from './question-text.ts'
import { countersFrom, textOf } from '../../limits/counters-text.ts'
import { mostGrants } from '../../limits/grants.ts'
import { purseFrom, takenPart } from '../../limits/purse.ts'
import { mostTopUps, topUpsOf } from '../../limits/top-ups.ts'
import { packedAdmitted } from './purse-text.ts'
import { grantPoints, grantWords, packedParts } from './quota-hash.ts'
import { keyedScript, type Argument, type RedisOptions } from './script.ts'
import { banMessage, type BanNames } from './watch-bans.ts'

/** How long is waited for a replica. */
const waitMs = 3_000
const lookEveryMs = 10

export type QuotaEditOptions = RedisOptions &
  Readonly<{
    hashOf: (quota: string) => string
    time: () => string
    names: BanNames
  }>

type Edits = Pick<
  QuotaStore,
  'adjust' | 'freePlaces' | 'reset' | 'setMonthFrom' | 'grant' | 'topUp' | 'topUps' | 'ban' | 'lift'
>

/** All changes of quotas but decisions. */
export function quotaEditsIn(options: QuotaEditOptions): Edits {
  const { connection, hashOf, time, names } = options
  const edit = keyedScript({ ...options, file: 'quota-edit.lua' })

  /** Changes a quota, and tells all gateways of it. */
  const forgive = async (quota: string, change: string, ...args: readonly Argument[]) => {
    const answer = await edit(hashOf(quota), time(), change, ...args)
    await tellLift(options)
    return answer
  }

  return {
    async adjust(quota, { points, isAnswered, isLate }, admission) {
      const { counters: admitted, parts, seen, included, numbered } = admission
      const texts = [textOf(admitted), seen ? textOf(seen) : '', packedParts(parts, seen?.parts)]
      const number = numbered ? `${numbered.by},${numbered.number},${numbered.from}` : ''
      const args = [
        points,
        isLate ? 2 : isAnswered ? 1 : 0,
        ...texts,
        included && !admission.purse ? packedLimits(included) : '',
        number,
        packedAdmitted(admission),
      ]
      const text = String(await edit(hashOf(quota), time(), 'adjust', ...args))
      const [own, bought, ofTaken] = text.split(';')
      const [counters, taken] = [own, ofTaken].map((each) => countersFrom(each ?? ''))
      if (!counters) throw new Error('Redis gave no counters')
      if (!taken) return counters
      return {
        ...counters,
        purse: purseFrom(bought ?? ''),
        parts: new Map([[takenPart, taken]]),
      }
    },

    freePlaces: async (quota) => void (await forgive(quota, 'places')),
    reset: async (quota) => void (await forgive(quota, 'reset')),
    setMonthFrom: async (quota, monthFrom) => void (await forgive(quota, 'month', monthFrom)),

    async grant(quota, grant) {
      const args = [grantPoints(grant), mostGrants, grantWords(grant)]
      if (Number(await edit(hashOf(quota), time(), 'grant', ...args)) === 0) return false
      await tellLift(options)
      return true
    },

    async topUp(quota, { id, points, by, note }) {
      const args = [id, points, mostTopUps, JSON.stringify({ by, note })]
      const answer = await edit(hashOf(quota), time(), 'top-up', ...args)
      const [outcome, text] = answer as ['done' | 'again' | 'other' | 'short', string]
      if (outcome === 'short') return { outcome, left: Number(text) }
      const [topUp] = topUpsOf(text)
      if (!topUp) throw new Error('Redis gave no top-up')
      if (outcome === 'done') await tellLift(options)
      // One that is sent again may be so because a replica didn't have it.
      if (outcome !== 'other') await replicated(options, hashOf(quota), id)
      return { outcome, topUp }
    },

    async topUps(quota) {
      return topUpsOf((await answerOf(connection.hget(hashOf(quota), 'z'))) ?? '')
    },

    async ban(quota, key, untilMs) {
      await forgive(quota, 'ban', key, untilMs)
      await tellBan(options, { quota, key, untilMs })
    },

    async lift(quota, key) {
      const ran = Number(await edit(hashOf(quota), time(), 'lift', key)) === 1
      await answerOf(connection.zrem(names.list, JSON.stringify([key, quota])))
      await tellLift(options)
      return ran
    },
  }
}

/** Adds a ban to the list of bans, and tells other gateways. Hashes alone can't be listed: a Cluster spreads them. */
export async function tellBan(
  { connection, names }: Pick<QuotaEditOptions, 'connection' | 'names'>,
  { key, quota, untilMs }: Ban,
): Promise<void> {
  await answerOf(connection.zadd(names.list, untilMs, JSON.stringify([key, quota])))
  await answerOf(connection.publish(names.channel, banMessage({ key, quota, untilMs })))
}

/** Tells all gateways that a ban was lifted, a quota reset, or points granted or bought. */
async function tellLift({ connection, names }: QuotaEditOptions): Promise<void> {
  const [seconds, micros] = await answerOf(connection.time())
  await answerOf(connection.set(names.lifts, Number(seconds) * 1e6 + Number(micros)))
  await answerOf(connection.publish(names.channel, ''))
}

/**
 * Waits until a replica has all that was written of a hash, where its server has a replica. WAIT would hold up all decisions of
 * the connection. With a millisecond, which may last a tenth of a second, it only has replicas say at once what they have, where
 * the user may say so; else they say it once a second.
 */
async function replicated({ connection }: RedisOptions, hash: string, what: string): Promise<void> {
  // With the name of a hash, a Cluster asks the server that has it.
  const look = async (hasToSay = false): Promise<string> => {
    const calls = connection.pipeline().exists(hash)
    if (hasToSay) calls.wait(1, 1)
    const [, info] = (await answerOf(calls.info('replication').exec()))?.at(-1) ?? []
    return typeof info === 'string' ? info : ''
  }
  const first = await look()
  const written = Number(/^master_repl_offset:(\d+)/m.exec(first)?.[1] ?? 0)
  if (hasReplicaAt(first, written) || hasReplicaAt(await look(true), written)) return
  const giveUpAt = performance.now() + waitMs
  while (performance.now() < giveUpAt) {
    await new Promise((resolve) => void setTimeout(resolve, lookEveryMs))
    if (hasReplicaAt(await look(), written)) return
  }
  throw new StoreUnavailable(
    `no replica of Redis had “${what}” within ${waitMs / 1_000} s, and a fail-over may lose it: repeat it by its id`,
  )
}

function hasReplicaAt(text: string, written: number): boolean {
  const replicas = text.match(/^slave\d+:.*$/gm) ?? []
  return (
    replicas.length === 0 ||
    replicas.some((line) => Number(/offset=(\d+)/.exec(line)?.[1] ?? 0) >= written)
  )
}
