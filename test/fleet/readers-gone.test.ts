import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { openStores } from '../../gateway/front/stores/open.ts'
import { readConfig } from '../../gateway/office/config/load.ts'
import { noFigures, packed } from '../../gateway/office/ledger/rows.ts'
import { dayText } from '../../gateway/front/counts/usage.ts'
import { dayMs } from '../../shared/windows.ts'
import { commandLine } from '../support/command-line.ts'
import { bareEnvironment, root } from '../support/process.ts'

t.test('a command whose reader has gone ends quietly, as it would have', async (t) => {
  const { env, file } = await commandLine(t, 'file: $DIR/gateway.db')
  const day = Math.floor(Date.now() / dayMs) - 2
  const stores = await openStores(readConfig(file, {}).config.store)
  const rows = Array.from({ length: 20_000 }, (_, i) => {
    return { ...noFigures(), quota: `account:${i}`, plan: 'pro', keys: [], routes: [], points: 1 }
  })
  await stores.ledger.close({ day, chunks: await packed(rows) })
  await stores.close()
  const main = join(root, 'gateway/office/cli/main.ts')
  const start = (...args: string[]) =>
    spawn(process.execPath, [main, ...args], {
      env: { ...bareEnvironment, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const exporting = ['usage', 'export', '--from', dayText(day)]
  for (const [args, code] of [
    [exporting, 0],
    [[...exporting, '--csv'], 0],
    [[...exporting, '--json'], 0],
    [['--help'], 0],
    [['config', 'show'], 0],
    [['config', 'check', '/nowhere.yaml'], 2],
  ] as const) {
    const child = start(...args)
    const ended = once(child, 'exit')
    // As `head` does: it goes with what it has.
    child.stdout.once('data', () => child.stdout.destroy())
    const said = await text(child.stderr)
    t.notMatch(said, 'EPIPE', args.join(' '))
    t.strictSame(await ended, [code, null], args.join(' '))
    const other = start(...args)
    other.stdout.destroy()
    other.stderr.destroy()
    t.strictSame(await once(other, 'exit'), [code, null], `${args.join(' ')}, read by nobody`)
  }
})
