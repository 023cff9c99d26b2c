import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { isAt, startSides, unlimitedPlan } from '../../support/sides.ts'
import { pause } from '../../support/traffic.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

t.test('swap status --wait ends with the swap, and says by its exit code how', async (t) => {
  const { old, next } = await startSides(t)
  const swap = `swap: { to: ["${next.url}"], steps: [50], every: 1h, methods: [GET] }`
  const { gateway, ask, file } = await startAdmin(t, {
    ...{ upstream: old.upstream, upstreamMore: swap, more: unlimitedPlan },
  })
  const status = (...words: string[]) =>
    runCommand(['upstream', 'swap', 'status', '--config', file, ...words], {})
  const act = (verb: string) => ask('POST', `/admin/upstreams/animals/swap/${verb}`)
  await until(isAt(gateway, 0))
  t.match(await status(), { code: 0, out: /^Step 1 of 2: 50 %/ })
  t.match(await status('--wait', '1ms'), { code: 1, out: /^Step 1 of 2/ }, 'the time is over')

  const waiting = status('--wait', 'animals', '--json')
  await pause(200)
  await act('finish')
  const { code, stdout } = await waiting
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { animals: { state: 'all' } })
  t.match(await status('animals', '--wait'), { code: 0, out: /^All callers of animals go to/ })
  const guarded = await status('--wait', '--guard', '1ms')
  t.match(guarded, { code: 0, out: /^All callers of animals go to/ }, 'the time is over')
  const guarding = status('--wait', '1ms', '--guard', '1h')
  await pause(200)
  await act('back')
  t.match(await guarding, { code: 1, out: /are at .* again/ }, 'it went back after the last step')
  const alone = { code: 2, out: 'tollgate: --guard needs --wait\n' }
  t.match(await status('--guard', '1h'), alone)
  t.match(await status('--wait'), { code: 1, out: /are at .* again/ })
  t.match(await status(), { code: 0 }, 'a look is no verdict')

  const text = readFileSync(file, 'utf8')
  const other = join(folderOf(t), 'gateway.yaml')
  writeFileSync(other, text.replace(`, ${swap}`, ''))
  const elsewhere = (...words: string[]) =>
    runCommand(['upstream', 'swap', 'status', '--config', other, ...words], {})
  t.match(await elsewhere('--wait'), { code: 1, out: 'The configuration describes no swap.' })
  const [, animals = ''] = /^upstreams: \{ animals: (.*) \}$/m.exec(text) ?? []
  writeFileSync(other, text.replace(animals, `${animals}, b: ${animals}`))
  t.match(await elsewhere('--wait'), {
    code: 2,
    out: /^tollgate: --wait is for one swap, and there are those of animals, b: name one\n$/,
  })
  t.match(await elsewhere('b', '--wait', '1ms'), { code: 1, out: /The swap of b has not begun/ })
})
