import t from 'tap'
import { readConfig } from '../../../gateway/office/config/load.ts'
import type { LedgerLine } from '../../../gateway/office/ledger/lines.ts'
import { noFigures, packed } from '../../../gateway/office/ledger/rows.ts'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { dayMs } from '../../../shared/windows.ts'
import { commandLine } from '../../support/command-line.ts'

t.test('usage export --month has all days of a calendar month, and no other', async (t) => {
  const { file, run, runJson } = await commandLine(t, 'file: $DIR/gateway.db')
  const now = new Date()
  // Months that are over, and which the ledger still has: one of them is a February.
  const monthsAgo = Array.from({ length: 12 }, (_, i) => i + 1)
  const firstDay = (ago: number): number =>
    Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago, 1) / dayMs
  const textOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10)
  const stores = await openStores(readConfig(file, {}).config.store)
  const row = { ...noFigures(), quota: 'account:acme', plan: 'pro', keys: [], routes: [] }
  const chunks = await packed([{ ...row, requests: 2, points: 3 }])
  for (const ago of monthsAgo) {
    for (const day of [firstDay(ago), firstDay(ago - 1) - 1]) {
      await stores.ledger.close({ day, chunks })
    }
  }
  await stores.close()
  for (const ago of monthsAgo) {
    const month = textOf(firstDay(ago)).slice(0, 7)
    const lines = (await runJson('usage', 'export', '--month', month)) as unknown as LedgerLine[]
    const days = [textOf(firstDay(ago)), textOf(firstDay(ago - 1) - 1)]
    t.strictSame(
      lines.map(({ day }) => day),
      days,
      month,
    )
  }
  const month = ['usage', 'export', '--month', '2026-11']
  for (const more of ['--from', '--to']) {
    t.match(await run(...month, more, '2026-11-02'), {
      code: 2,
      out: /^tollgate: --month is all days of a month: leave it out, or --from and --to\n$/,
    })
  }
  for (const wrong of ['2026-13', '2026-00', '2026', '2026-1', '2026-11-01', 'november']) {
    t.match(await run('usage', 'export', '--month', wrong), {
      code: 2,
      out: `tollgate: --month must be a month such as 2030-12, got "${wrong}"\n`,
    })
  }
})

t.test('usage export has lines of one key or account alone, with names', async (t) => {
  const { file, run, runJson } = await commandLine(t, 'file: $DIR/gateway.db')
  const create = async (name: string, ...more: string[]) =>
    String((await runJson('keys', 'create', '--plan', 'free', '--name', name, ...more))['id'])
  const ofAcme = ['--account', 'acme']
  const [ann, bo] = [await create('Ann', ...ofAcme), await create('Bo', ...ofAcme)]
  const alone = await create('Al, one')
  const day = Math.floor(Date.now() / dayMs) - 2
  const figures = { ...noFigures(), requests: 2, points: 3 }
  const row = { ...figures, plan: 'pro', routes: [] }
  const keysOf = (...ids: string[]) => ids.map((key) => ({ ...figures, points: 1, key }))
  const stores = await openStores(readConfig(file, {}).config.store)
  const chunks = await packed([
    { ...row, quota: 'account:acme', keys: keysOf(ann, bo) },
    { ...row, quota: 'account:acme-2', keys: [] },
    { ...row, quota: `key:${alone}`, keys: [] },
  ])
  await stores.ledger.close({ day, chunks })
  await stores.close()
  const date = new Date(day * dayMs).toISOString().slice(0, 10)
  const whole = ['usage', 'export', '--from', date, '--to', date]
  type Line = LedgerLine & Readonly<{ names: readonly string[] }>
  const lines = async (...more: string[]) =>
    ((await runJson(...whole, ...more)) as unknown as Line[]).map(({ id, names }) => [id, ...names])
  const acme = `${date}:account:acme`
  const own = [`${date}:key:${alone}`, 'Al, one']
  t.strictSame(await lines(), [[acme, 'Ann', 'Bo'], [`${acme}-2`], own])
  t.strictSame(await lines('--account', 'acme'), [[acme, 'Ann', 'Bo']])
  t.strictSame(await lines('--account', 'acme', '--by', 'plan'), [[`${date}:plan:pro`]])
  t.strictSame(await lines('--key', 'Ann'), [[`${acme}:key:${ann}`, 'Ann']])
  t.strictSame(await lines('--key', alone), [own])
  t.strictSame(await lines('--key', alone, '--account', 'acme'), [])
  const { out } = await run(...whole, '--csv')
  t.match(
    out,
    /^"id",.*,"beyond","names","reference"\r\n.*,"Ann; Bo",""\r\n.*,"",""\r\n.*,"Al, one",""\n$/,
  )
  t.match((await run(...whole)).out, /\n\S+ +account:acme +pro .*\n.*\n\S+ +key:\w+ +Al, one +pro /)
  t.match(await run(...whole, '--key', 'nobody'), { code: 1, out: /no key with the id or name/ })
  t.match(await run(...whole, '--key', 'Ann', '--by', 'plan'), {
    ...{ code: 2, out: 'tollgate: of a key, lines are by key: leave out --by plan\n' },
  })
})
