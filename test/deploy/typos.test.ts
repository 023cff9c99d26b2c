import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { folderOf } from '../support/folder.ts'
import { root } from '../support/process.ts'

t.test('the compiler says the right thing for a typo', (t) => {
  const folder = folderOf(t, {
    'typo.ts': `
      import type { ConfigFile } from ${JSON.stringify(join(root, 'gateway/office/config/file.ts'))}
      const route = { path: '/v1/*', upstream: 'a' }
      export const words: ConfigFile = { plans: { free: { perMinute: '60', perDay: 1 } }, routes: [route] }
      export const name: ConfigFile = { plans: {}, routes: [{ path: '/v1/*', upsteam: 'a' }] }
      export const fine: ConfigFile = { plans: { free: { perMinute: 60, perDay: 'unlimited' } }, routes: [route] }
    `,
  })
  const language = ['--strict', '--allowImportingTsExtensions', '--target', 'es2022']
  // Without the types of packages and browsers, which are most of the compiler's work.
  const options = [
    '--noEmit',
    '--skipLibCheck',
    ...language,
    '--lib',
    'es2022',
    '--typeRoots',
    folder,
  ]
  const { stdout } = spawnSync(
    process.execPath,
    [
      join(root, 'node_modules/typescript/bin/tsc'),
      ...options,
      '--module',
      'nodenext',
      join(folder, 'typo.ts'),
    ],
    { encoding: 'utf8' },
  )
  const errors = stdout.split('\n').filter((line) => /typo\.ts\(.*error TS/.test(line))
  t.equal(errors.length, 2, stdout)
  t.match(
    errors[0],
    /Type 'string' is not assignable to type 'number \| "unlimited"'|'"60"'|not assignable/,
  )
  t.match(errors[1], /'upsteam' does not exist in type 'Settings<.* Did you mean.*'upstream'/)
  t.end()
})
