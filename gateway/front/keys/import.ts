import { breathe } from '../../../shared/breathe.ts'
import { inBatches } from '../../../shared/in-order.ts'
import { instantFrom } from '../../../shared/units.ts'
import { beyondFrom, limitSettings, type LimitSetting } from '../limits/limit-settings.ts'
import type { Plan } from '../limits/plan.ts'
import { firstNames } from '../records/audit-store.ts'
import type { KeyStore } from './store.ts'
import type { Key } from './key.ts'
import { KeyMistake } from './mistake.ts'
import { PackedKeys } from './packed-keys.ts'
import { FirstMistakes, RowMistakes } from './row-mistakes.ts'
import { rowsIn, type Row, type Text } from './rows.ts'
import { requireSound, wrongLimit } from './settings.ts'
import { hashOf, isOurs, isWellFormed } from './token.ts'

/** The number of lines that are read in one go: the gateway serves requests in between. */
const rowsAtOnce = 250

export type ImportOptions = Readonly<{
  store: KeyStore
  plans: ReadonlyMap<string, Plan>
  nowMs: number
  /** Checks the file, and adds nothing. */
  isDryRun?: boolean | undefined
  /** Leaves out the rows whose tokens are in the store already, which are mistakes otherwise. */
  skipsStored?: boolean | undefined
}>

/** The number of the keys, the first of their names, and the number of rows that were left out. */
export type Imported = Readonly<{ keys: number; names: readonly string[]; skipped: number }>

/** Adds the keys of a file, all or none. Throws `RowMistakes` with all mistakes. */
export async function importKeys(
  text: Text,
  { store, plans, nowMs, isDryRun = false, skipsStored = false }: ImportOptions,
  progress?: (written: number, total: number) => void,
): Promise<Imported> {
  const lineByHash = new LineByHash()
  const keys = new PackedKeys()
  const mistakes = await eachRow(text, (row) => {
    const hash = hashFrom(row.fields['token'] || undefined, row.fields['sha256'] || undefined)
    const key = importedKey(row, hash, plans, nowMs)
    const twin = lineByHash.get(hash)
    if (twin !== undefined) throw new KeyMistake(`its token is that of line ${twin}`)
    lineByHash.set(hash, row.line)
    keys.push(key)
  })
  const refuse = async (isSkipping = false): Promise<never> => {
    const taken = new FirstMistakes()
    const message = 'this token is in the store already'
    if (!isSkipping) {
      for await (const [, line] of storedIn(store, lineByHash)) taken.add({ line, message })
    }
    throw new RowMistakes(mistakes.with(taken), keys.length - taken.count)
  }
  if (mistakes.count > 0) return refuse(skipsStored)
  const stored = new Set<string>()
  if (skipsStored || isDryRun) {
    for await (const [hash] of storedIn(store, lineByHash)) stored.add(hash)
  }
  if (stored.size > 0 && !skipsStored) return refuse()
  const added = stored.size === 0 ? keys : await withoutStored(keys, stored)
  const imported = { keys: added.length, names: firstNames(added), skipped: stored.size }
  if (isDryRun || added.length === 0) return imported
  await added.identify()
  const { clash } = await store.add(added, (written) => progress?.(written, added.length))
  return clash === undefined ? imported : refuse()
}

async function withoutStored(all: PackedKeys, stored: ReadonlySet<string>): Promise<PackedKeys> {
  const keys = new PackedKeys()
  for await (const [some] of inBatches(all, rowsAtOnce)) {
    for (const key of some) if (!stored.has(key.secrets[0]?.hash ?? '')) keys.push(key)
  }
  return keys
}

/** Takes each row of a text; resolves to the mistakes in rows and those that `take` throws. */
async function eachRow(text: Text, take: (row: Row) => void): Promise<FirstMistakes> {
  const mistakes = new FirstMistakes()
  const wrong = (line: number, message: string): void => mistakes.add({ line, message })
  let count = 0
  for (const row of rowsIn(text, wrong)) {
    if (++count % rowsAtOnce === 0) await breathe()
    if (!row) continue
    try {
      take(row)
    } catch (error) {
      if (!(error instanceof KeyMistake)) throw error
      wrong(row.line, error.message)
    }
  }
  return mistakes
}

function importedKey(
  { fields, line }: Row,
  hash: string,
  plans: ReadonlyMap<string, Plan>,
  createdAtMs: number,
): Omit<Key, 'id'> {
  const textOf = (name: string): string | undefined => fields[name] || undefined
  const expires = textOf('expires')
  const key = {
    name: textOf('name') ?? `imported, line ${line}`,
    plan: textOf('plan') ?? '',
    account: textOf('account'),
    test: testFrom(textOf('test')),
    limits: Object.fromEntries(limitSettings.map((name) => [name, limitOf(name, textOf(name))])),
    expiresAtMs: expires === undefined ? undefined : (instantFrom(expires) ?? NaN),
    note: textOf('note'),
    reference: textOf('reference'),
    scopes: textOf('scopes')?.split(/\s+/),
    origins: textOf('origins')?.split(/\s+/),
    createdAtMs,
    secrets: [{ hash }],
  }
  requireSound(key, plans)
  return key
}

/** Lines by their hashes, in a map for each first character: one of 100,000 grows now and then, for 20 ms each time. */
class LineByHash {
  readonly #maps = new Map<string, Map<string, number>>()
  readonly #hashes: string[] = []

  get(hash: string): number | undefined {
    return this.#maps.get(hash.charAt(0))?.get(hash)
  }

  set(hash: string, line: number): void {
    const start = hash.charAt(0)
    const map = this.#maps.get(start)
    if (map) map.set(hash, line)
    else this.#maps.set(start, new Map([[hash, line]]))
    this.#hashes.push(hash)
  }

  /** All in the order of their lines. */
  *[Symbol.iterator](): Generator<[hash: string, line: number]> {
    for (const hash of this.#hashes) yield [hash, this.get(hash) ?? 0]
  }
}

/** The rows whose tokens are in the store already. */
async function* storedIn(
  store: KeyStore,
  lineByHash: LineByHash,
): AsyncGenerator<[hash: string, line: number]> {
  for await (const [some] of inBatches(lineByHash, rowsAtOnce)) {
    const storedKeys = await Promise.all(some.map(async ([hash]) => await store.find(hash)))
    yield* some.filter((_, i) => storedKeys[i])
  }
}

/** The hash of an imported key, from a token of the other system or from its SHA-256 in hex or base64url. */
function hashFrom(token: string | undefined, sha256: string | undefined): string {
  if (token !== undefined && sha256 === undefined) {
    if (isOurs(token) && !isWellFormed(token)) {
      throw new KeyMistake(
        'a token that starts with tg_ must be one of this gateway’s own, but this one is mistyped',
      )
    }
    if (/^[A-Za-z0-9\-._~+/]{8,512}=*$/.test(token) && token.length <= 512) return hashOf(token)
    throw new KeyMistake('a token must be 8 to 512 of the characters A-Za-z0-9-._~+/')
  }
  if (sha256 !== undefined && token === undefined) {
    if (/^[0-9a-f]{64}$/i.test(sha256)) return Buffer.from(sha256, 'hex').toString('base64url')
    if (/^[\w-]{43}$/.test(sha256)) return sha256
    throw new KeyMistake('sha256 must be 64 hexadecimal digits, or 43 characters of base64url')
  }
  throw new KeyMistake('a row needs either a token or a sha256')
}

function limitOf(name: string, text: string | undefined): LimitSetting | undefined {
  if (text === undefined || text === 'unlimited') return text
  const beyond = beyondFrom(text)
  if (beyond) return beyond
  const number = Number(text)
  if (Number.isNaN(number)) throw wrongLimit(name, JSON.stringify(text))
  return number
}

function testFrom(text: string | undefined): true | undefined {
  if (text === undefined || text === 'false') return undefined
  if (text === 'true') return true
  throw new KeyMistake(`test must be true or false, got "${text}"`)
}
