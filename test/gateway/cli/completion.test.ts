import t from 'tap'
import { tableOf } from '../../../gateway/office/cli/completion/table.ts'
import { argumentWords, optionsOf } from '../../../gateway/office/cli/options.ts'
import { operations } from '../../../gateway/office/operations/all.ts'
import { shells } from '../../../gateway/office/operations/shells.ts'
import { runCommand } from '../../support/command.ts'

t.test('all commands and their options are offered', (t) => {
  const table = tableOf(operations)
  for (const operation of operations) {
    const words = operation.name.split(' ')
    const place = ['tollgate', ...words.filter((word) => !/^--/.test(word))]
    const offeredAt = (length: number) =>
      new Set(table.get(place.slice(0, length).join(' '))?.map(({ word }) => word))
    for (const [i, word] of place.entries()) if (i > 0) t.ok(offeredAt(i).has(word), word)
    const offered = offeredAt(place.length)
    for (const word of words.filter((each) => /^--/.test(each))) t.ok(offered.has(word), word)
    for (const [option, { value, words = [], bare }] of Object.entries(optionsOf(operation))) {
      t.ok(offered.has(`--${option}`), `${operation.name} --${option}`)
      const values = table.get(`${place.join(' ')} --${option}`)?.map(({ word }) => word)
      t.equal(values !== undefined, value !== undefined && !bare, 'it takes a value')
      for (const word of words) t.ok(values?.includes(word), `${option} ${word}`)
    }
    if (argumentWords(operation).join().includes('FILE') && !operation.name.includes('--')) {
      t.ok(offered.has(':file'), operation.name)
    }
  }
  t.end()
})

t.test('a script needs no configuration, and an unknown shell is refused', async (t) => {
  for (const shell of shells) {
    const ran = await runCommand(['completion', shell, '--json'], { TOLLGATE_CONFIG: '/nowhere' })
    t.equal(ran.code, 0)
    t.equal(
      `${(JSON.parse(ran.stdout) as { script: string }).script}\n`,
      (await runCommand(['completion', shell], {})).stdout,
    )
  }
  t.match(await runCommand(['completion', 'sh'], {}), {
    code: 2,
    out: /bash, zsh, fish or plans, got "sh"/,
  })
})
