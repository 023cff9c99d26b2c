import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../support/process.ts'
import { allInvariants } from './invariants/all.ts'
import { faults } from './mutants/all.ts'

const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')

t.test('each fault applies exactly once', (t) => {
  for (const { name, file, find, replace } of faults) {
    t.equal(textOf(file).split(find).length - 1, 1, `${name}: ${file}`)
    t.not(find, replace, name)
  }
  t.equal(new Set(faults.map(({ name }) => name)).size, faults.length, 'each has a name of its own')
  t.end()
})

t.test('at least 40 faults, 10 of scripts, and 15 that undo a mending', (t) => {
  t.ok(faults.length >= 40)
  t.ok(faults.filter(({ file }) => file.endsWith('.lua')).length >= 10)
  t.ok(faults.filter(({ undoes }) => undoes !== undefined).length >= 15)
  t.end()
})

t.test('the table tells each fault, and what found it; all but two at most are found', (t) => {
  const rows = textOf('test/mutants.md').match(/^\| .*`.*$/gm) ?? []
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()))
  t.strictSame(
    cells.map(([, name]) => name),
    faults.map(({ name }) => name),
  )
  t.ok(cells.filter(([, , , , by]) => by === '**nothing**').length <= 2)
  t.end()
})

t.test('the README tells each law', (t) => {
  const told = [...textOf('test/simulator/README.md').matchAll(/^\| \[([^\]]+)\]\(invariants\//gm)]
  t.strictSame(
    told.map(([, name]) => name),
    allInvariants.map(({ name }) => name),
  )
  t.end()
})
