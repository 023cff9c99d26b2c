import t from 'tap'
import { parse } from 'yaml'
import { calledBy } from '../gateway/office/cli/arguments.ts'
import { inputOf } from '../gateway/office/cli/arguments.ts'
import { givenFrom } from '../gateway/office/cli/given.ts'
import { operations } from '../gateway/office/operations/all.ts'
import { wordsOf } from './support/command.ts'
import { messagesOf } from './support/configuration.ts'
import { blocks, guides, textOf } from './support/readme.ts'

t.test('each guide is a page, and README leads to it before anything else', (t) => {
  const readme = textOf('README.md')
  for (const guide of guides) {
    t.ok(textOf(guide).split('\n').length <= 121, `${guide} has 120 lines at most`)
    const place = readme.indexOf(`](${guide})`)
    t.ok(place > 0 && place < readme.indexOf('\n## '), guide)
  }
  t.end()
})

t.test('the command line takes each command of the guides', (t) => {
  let count = 0
  for (const guide of guides) {
    const shell = blocks(textOf(guide), 'sh').join('\n')
    for (const [, line = ''] of shell.matchAll(/(?:^|\$\() *(tollgate [^#|\n]*)/gm)) {
      count++
      const [, ...words] = wordsOf(line.trim())
      const called = calledBy(words, operations)
      if (!called) t.fail(`${guide}: ${line}`)
      else {
        const { operation, rest } = called
        const configuration = { name: 'x', read: () => '' }
        t.doesNotThrow(() => givenFrom(operation, inputOf(operation, rest), configuration), line)
      }
    }
  }
  t.ok(count > 25, `${count} of them`)
  t.end()
})

t.test('the configurations of the guides are sound', (t) => {
  const files = guides.flatMap((guide) => blocks(textOf(guide), 'yaml'))
  t.ok(files.length > 0)
  for (const file of files) t.strictSame(messagesOf(file), [], file)
  t.match(parse(files[0] ?? ''), { plans: {}, routes: [] })
  t.end()
})
