import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { importKeys } from '../../../gateway/front/keys/import.ts'
import { RowMistakes } from '../../../gateway/front/keys/row-mistakes.ts'
import { rowsIn } from '../../../gateway/front/keys/rows.ts'
import { hashOf } from '../../../gateway/front/keys/token.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { embeddedKeys } from '../../../gateway/front/stores/embedded/keys.ts'
import { plans } from '../../support/two-plans.ts'

t.test('importing', async (t) => {
  const store = embeddedKeys(openGatewayFile(':memory:'))
  t.teardown(() => store.close())
  const into = async (text: string) => (await importKeys([text], { store, plans, nowMs: 5 })).keys
  const count = async () => {
    let keys = 0
    for await (const key of store.list()) if (key) keys++
    return keys
  }

  t.test('CSV, with quotes, any order of columns, and hashes in hex', async (t) => {
    const hex = Buffer.from(hashOf('old-token-2'), 'base64url').toString('hex')
    const text = `\ufeffplan,name,token,sha256,perMinute,perDay,expires\r\nfree,"Acme, ""Inc""",old-token-1,,,,2030-01-01\r\n\r\nenterprise,Big,,${hex},5,unlimited,\r\n`
    t.equal(await into(text), 2)
    t.match(store.find(hashOf('old-token-1'))?.key, {
      name: 'Acme, "Inc"',
      plan: 'free',
      expiresAtMs: Date.UTC(2030, 0),
    })
    t.match(store.find(hashOf('old-token-2'))?.key, {
      limits: { perMinute: 5, perDay: 'unlimited' },
    })
  })
  t.test('JSON lines', async (t) => {
    t.equal(
      await into(
        `{"token":"old-token-3","plan":"free","account":"a"}\n{"token":"old-token-4","plan":"free","perDay":7}\n`,
      ),
      2,
    )
    t.match(store.find(hashOf('old-token-4'))?.key.limits, { perDay: 7 })
  })
  t.test('a mistake is told with its line, and nothing is imported', async (t) => {
    const before = await count()
    for (const [text, sentence] of [
      ['', /no rows/],
      [
        'token,plan\nnew-token-1,free\nnew-token-2,gold\n',
        /^line 3: there is no plan "gold"; there are free, enterprise/,
      ],
      ['token,plan\nnew-token-1,free\nnew-token-1,free\n', /^line 3: its token is that of line 2/],
      [
        'token,plan\nnew-token-1,free\nold-token-3,free\n',
        /^line 3: this token is in the store already/,
      ],
      ['token,plan\nnew-token-1\n', /^line 2: it has 1 fields, but the first line names 2/],
      ['token,plan\n"new,free\n', /^line 2: a quote/],
      ['token,color\n', /^line 1: there is no column "color"/],
      ['plan\nfree\n', /^line 2: a row needs either a token or a sha256/],
      ['plan,token\nenterprise,new-token-1\n', /^line 2: the plan "enterprise" is custom/],
      [
        'plan,token,perMinute\nfree,new-token-1,many\n',
        /^line 2: perMinute must be a whole number above 0 or "unlimited", got "many"/,
      ],
      ['plan,token,expires\nfree,new-token-1,soon\n', /^line 2: the expiry isn’t a valid date/],
      ['plan,token\nfree,short\n', /^line 2: a token must be 8 to 512/],
      ['plan,token\nfree,tg_abcdefgh\n', /^line 2: a token that starts with tg_/],
      ['plan,sha256\nfree,abc\n', /^line 2: sha256 must be 64 hexadecimal digits/],
      [
        '{"token":"new-token-1","plan":"free"}\nnonsense\n',
        /^line 2: this isn’t a valid JSON object/,
      ],
      ['{"token":["x"],"plan":"free"}\n', /^line 1: token must be a text or a number/],
    ] as const) {
      await t.rejects(into(text), { message: sentence }, text.slice(0, 40))
    }
    const mixed = 'token,plan\nshort,free\nnew-token-1,free\nold-token-3,free\nnew-token-1,free,x\n'
    const several = {
      mistakes: [
        { line: 2, message: /^a token must be/ },
        { line: 4, message: 'this token is in the store already' },
        { line: 5, message: 'it has 3 fields, but the first line names 2' },
      ],
      keys: 1,
      message: /^line 2: a token [^;]*; line 4: this token [^;]*; line 5: it has 3 fields/,
    }
    await t.rejects(into(mixed), several, 'all of them')
    const many = Array.from({ length: 2_000 }, () => 'short,free').join('\n')
    await t.rejects(into(`token,plan\n${many}`), {
      mistakes: { length: 100 },
      more: 1_900,
      message: /^lines 2, 3, 4 and 1,997 more: a token must be [^;\n]*$/,
    })
    t.equal(await count(), before)
  })
  t.test('20,000 rows', async (t) => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `token-of-row-${i},free,Row ${i}`)
    const started = performance.now()
    t.equal(await into(`token,plan,name\n${lines.join('\n')}`), 20_000)
    t.comment(`${((performance.now() - started) / 1000).toFixed(1)} s`)
    t.equal(store.find(hashOf('token-of-row-19999'))?.key.name, 'Row 19999')
    const again = await into(`token,plan,name\n${lines.join('\n')}`).catch(
      (error: unknown) => error,
    )
    const told = again instanceof RowMistakes ? again.mistakes : []
    t.equal(told.length, 100)
    t.match(again, { more: 19_900 })
    t.ok(
      told.every(({ line }, i) => line === i + 2),
      'of tokens that are there already, the first lines are told',
    )
  })
  t.test('rows that are there already cost no more the more there are', async (t) => {
    const msOf = async (rows: number) => {
      const store = embeddedKeys(openGatewayFile(':memory:'))
      const lines = Array.from({ length: rows }, (_, i) => `token-of-row-${i},free\n`)
      const twice = () => importKeys(['token,plan\n', ...lines], { store, plans, nowMs: 5 })
      t.equal((await twice()).keys, rows)
      const { user } = process.cpuUsage()
      await t.rejects(twice(), { message: /in the store already/ })
      const ms = (process.cpuUsage().user - user) / 1_000
      await store.close()
      return ms
    }
    const [few, many] = [await msOf(2_000), await msOf(20_000)]
    t.comment(`2,000: ${few.toFixed(0)} ms; 20,000: ${many.toFixed(0)} ms`)
    t.ok(many < 30 * few, 'ten times as many, and no square of it')
  })
  t.equal([...rowsIn(['token,plan\na,b\n'])][0]?.line, 2)
  const text = '\ufefftoken,plan\r\na,b\r\n\nc,d'
  const whole = [...rowsIn([text])]
  for (let at = 0; at <= text.length; at++) {
    t.strictSame([...rowsIn([text.slice(0, at), text.slice(at)])], whole, `cut at ${at}`)
  }
  t.throws(() => [...rowsIn(['token,plan\na,', 'b'.repeat(1_000_001), '\n'])], {
    message: 'line 2 is longer than 1,000,000 characters',
  })
})

t.test(
  'CSV is read as RFC 4180 has it written, in a time that grows with its length',
  async (t) => {
    const columns = 'token,sha256,plan,name,account,perMinute,perDay,expires,note'.split(',')
    const fieldsOf = (line: string, count: number): string[] => {
      const names = columns.slice(0, count)
      const [row] = rowsIn([`${names.join(',')}\n${line}`])
      return names.map((name) => row?.fields[name] ?? '')
    }
    const mistakeIn = (line: string): string => {
      try {
        return `none, but ${fieldsOf(line, 1).join()}`
      } catch (error) {
        return error instanceof Error ? error.message : String(error)
      }
    }
    const content = fc.string({ unit: fc.constantFrom('a', 'ü', '"', ',', ' ', '\t', "'", ';') })
    const field = content.map((text) => ({ text, written: `"${text.replaceAll('"', '""')}"` }))
    const bare = fc
      .string({ unit: fc.constantFrom('a', 'ü', ' ', "'", ';') })
      .map((text) => ({ text, written: text }))
    const space = fc.constantFrom('', ' ', '\t ')
    const written = fc.tuple(space, fc.oneof(field, bare), space)
    fc.assert(
      fc.property(fc.array(written, { minLength: 1, maxLength: 9 }), (row) => {
        const line = row.map(([before, { written }, after]) => before + written + after).join(',')
        const texts = row.map(([, { text }]) => text.trim())
        return line.trim() === '' || isDeepStrictEqual(fieldsOf(line, row.length), texts)
      }),
      { numRuns: 500 },
    )
    // Whatever else a line may be, it means what it meant to the expression that was in the reader's place.
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '"', ',', ' ', '\t'), maxLength: 14 }),
        (line) => {
          const expected = fieldsByExpression(line)
          if (line.trim() === '' || (expected?.length ?? 0) > columns.length) return true
          if (expected) return isDeepStrictEqual(fieldsOf(line, expected.length), expected)
          return /^line 2: a quote opens/.test(mistakeIn(line))
        },
      ),
      { numRuns: 3_000 },
    )
    const [short, long] = [100_000, 10_000_000].map((length) => {
      const line = `${' '.repeat(length)}x"`
      const started = performance.now()
      t.throws(() => fieldsOf(line, 1), { message: /^line 2: a quote opens or closes/ })
      t.throws(() => fieldsOf(`"${'""'.repeat(length / 2)}`, 1), { message: /^line 2: a quote/ })
      return performance.now() - started
    })
    t.comment(`100,000: ${short?.toFixed(1)} ms; 10,000,000: ${long?.toFixed(1)} ms`)
    t.ok(
      Number(long) < 1_000 * Math.max(1, Number(short)),
      'a hundred times as long, and no square of it',
    )
  },
)

/** A line of CSV parsed by a regular expression, for short lines. */
function fieldsByExpression(line: string): string[] | undefined {
  const fields: string[] = []
  const field = /\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(,|$)/y
  for (;;) {
    const found = field.exec(line)
    if (!found) return undefined
    fields.push((found[1]?.replaceAll('""', '"') ?? found[2] ?? '').trim())
    if (found[3] === '') return fields
  }
}
