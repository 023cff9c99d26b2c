import t from 'tap'
import { inputOf } from '../../../gateway/office/cli/arguments.ts'
import { calledBy } from '../../../gateway/office/cli/arguments.ts'
import { examplesOf } from '../../../gateway/office/cli/examples.ts'
import { optionsOf } from '../../../gateway/office/cli/options.ts'
import { givenFrom } from '../../../gateway/office/cli/given.ts'
import { operations } from '../../../gateway/office/operations/all.ts'
import { runCommand, wordsOf } from '../../support/command.ts'

t.test('each command’s help has two examples, which the command takes', async (t) => {
  for (const operation of operations) {
    const { out } = await runCommand([...operation.name.split(' '), '--help'], {})
    const [, shown = ''] = out.split('\nExamples:\n')
    const examples = examplesOf(operation.name)
    t.equal(examples.length, 2, operation.name)
    t.equal(shown, examples.map((each) => `  ${each}\n`).join(''))
    for (const example of examples) {
      t.ok(example.length <= 78, 'it fits a terminal')
      const [tollgate, ...words] = wordsOf(example)
      t.equal(tollgate, 'tollgate')
      const called = calledBy(words, operations)
      t.equal(called?.operation, operation, example)
      const input = inputOf(operation, called?.rest ?? [])
      const configuration = { name: 'x', read: () => '' }
      t.doesNotThrow(() => givenFrom(operation, input, configuration), example)
    }
  }
})

t.test('the list of all commands has each below a heading', async (t) => {
  const { out } = await runCommand(['--help'], {})
  const lines = out.split('\n')
  const headings = lines.filter((line) => /^[A-Z].*:$/.test(line))
  t.equal(new Set(headings).size, headings.length, 'once each')
  t.ok(headings.length > 5)
  t.notMatch(out, 'undefined')
  t.equal(lines.filter((line) => /^ {2}\S/.test(line)).length, operations.length)
  t.notMatch((await runCommand(['keys'], {})).out, /^Keys, bans/m, 'a group alone needs none')
})

t.test('no option’s help gives its choices twice', (t) => {
  for (const operation of operations) {
    for (const [option, { help, expected = '' }] of Object.entries(optionsOf(operation))) {
      const choices = `${help}: ${expected}`.match(/\bor\b/g) ?? []
      t.ok(choices.length < 2, `${operation.name} --${option}: ${help}: ${expected}`)
    }
  }
  t.end()
})
