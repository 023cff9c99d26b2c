import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { root } from '../../support/process.ts'
import { faults } from './all.ts'
import type { Fault } from './fault.ts'
import { tableOf, type Found } from './table.ts'

/**
 * `node test/simulator/mutants/run.ts`: puts each fault into a copy of the tree, runs the simulator there and, if it finds
 * nothing, the contracts, and writes down what found it. With words, only the faults whose names have one of them, and no table.
 */
const contracts = ['in-a-file', 'in-redis'].map((name) => `test/gateway/stores/${name}.test.ts`)

/** A fault may have the code wait forever: that is found as well. */
const longestMs = 180_000

const words = process.argv.slice(2)
const tried = faults.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
)
const copy = copyOfTree()
const results = tried.map((fault) => {
  const foundBy = tryOut(fault)
  process.stdout.write(`${foundBy?.by ?? 'NOT FOUND'}: ${fault.name} (${foundBy?.law ?? '-'})\n`)
  return { fault, foundBy }
})
rmSync(copy, { recursive: true, force: true })
if (words.length === 0) writeFileSync(join(root, 'test', 'mutants.md'), tableOf(results))

function copyOfTree(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-mutants-'))
  const isCopied = (file: string): boolean =>
    !/^(?:node_modules|\.git|\.cache|\.tap)$/.test(basename(file))
  for (const name of ['gateway', 'shared', 'backend', 'test', 'config', 'package.json']) {
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: isCopied })
  }
  for (const name of ['node_modules', '.cache']) symlinkSync(join(root, name), join(folder, name))
  return folder
}

function tryOut({ file, find, replace }: Fault): Found | undefined {
  const path = join(copy, file)
  const text = readFileSync(path, 'utf8')
  if (text.split(find).length !== 2) throw new Error(`${file} doesn't have it once: ${find}`)
  writeFileSync(
    path,
    text.replace(find, () => replace),
  )
  try {
    return findIt()
  } finally {
    writeFileSync(path, text)
  }
}

function findIt(): Found | undefined {
  const simulator = run('test/simulator/mutants/try.ts')
  if (simulator.status !== 0) {
    const law = simulator.status === 1 ? simulator.lines.at(-1) : 'it doesn’t come to its end'
    return { by: 'simulator', law: law ?? '' }
  }
  for (const contract of contracts) {
    const { status, lines } = run(contract)
    const claim = lines.find((line) => /^ {4}not ok/.test(line)) ?? ''
    if (status !== 0)
      return { by: 'contract', law: claim.replace(/^ *not ok \d+ - | # time.*$/g, '') }
  }
  return undefined
}

function run(file: string): Readonly<{ status: number | null; lines: readonly string[] }> {
  const env = { ...process.env, TAP: '1' }
  const options = { cwd: copy, env, encoding: 'utf8', timeout: longestMs } as const
  const { status, stdout } = spawnSync(process.execPath, [join(copy, file)], options)
  return { status, lines: stdout.trimEnd().split('\n') }
}
