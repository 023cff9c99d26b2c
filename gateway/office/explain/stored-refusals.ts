import { createHash } from 'node:crypto'
import { breathe } from '../../../shared/breathe.ts'
import { countIn, hashOf, mayHave, unpacked } from '../../front/counts/refusal-chunk.ts'
import { mostFound, storedMs, type RefusalStore } from '../../front/counts/refusal-store.ts'
import { explained, type Explained } from './explained.ts'

/** The refused and failed answers of a store: those with one id, and how many there are of any id, of how many gateways. */
export type StoredRefusals = Awaited<ReturnType<typeof storedRefusals>>

/** A question for stored answers: the id, as `hashed` writes it, and the processes that have answered by themselves. */
export type AskedRefusals = Readonly<{ about: string; except: readonly string[]; nowMs: number }>

/** Reads the answers with an id from the store, which has those of gateways that can't be asked any more. */
export async function storedRefusals(store: RefusalStore, { about, except, nowMs }: AskedRefusals) {
  const afterMs = nowMs - storedMs
  const { hash, isWanted } = wantedBy(about)
  const all = (await store.indexes(afterMs)).filter(({ by }) => !except.includes(by))
  const matches: Explained[] = []
  for (const index of all.toSorted((a, b) => b.lastMs - a.lastMs)) {
    if (!mayHave(index, hash)) continue
    const last = matches[mostFound - 1]
    // All others are older.
    if (last && Date.parse(last.time) > index.lastMs) break
    const answers = await store.answers(index)
    const chunk = answers && (await unpacked(answers, isWanted))
    if (!chunk) continue
    const some = chunk.answers.filter(({ atMs }) => atMs > afterMs)
    matches.push(...some.map((refusal) => explained(refusal, chunk.gateway)))
    matches.sort(newestFirst)
    await breathe()
  }
  return {
    /** The newest first. */
    found: matches.slice(0, mostFound),
    kept: all.reduce((sum, index) => sum + countIn(index), 0),
    gateways: new Set(all.map(({ by }) => by)).size,
  }
}

/** An id as it is asked for: hashed, because somebody may ask for a token by mistake. */
export function hashed(id: string): string {
  return `${hashOf(id)} ${digestOf(id)}`
}

/** The short hash of an id that was asked for, and whether another one is the same. */
export function wantedBy(about: string) {
  const [hash = '', digest = ''] = about.split(' ')
  return { hash: Number(hash), isWanted: (id: string) => digestOf(id) === digest }
}

export function newestFirst(a: Pick<Explained, 'time'>, b: Pick<Explained, 'time'>): number {
  return a.time < b.time ? 1 : a.time > b.time ? -1 : 0
}

function digestOf(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}
