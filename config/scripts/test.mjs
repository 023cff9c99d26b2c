import { beginChecks } from './checks.mjs'
import { lanes } from './lanes.mjs'
import { prepareOrExit } from './prepare.mjs'
import { filesOf, runFiles } from './runs.mjs'
import { findTestTools } from './test-tools.mjs'

const words = process.argv.slice(2)
const isQuick = words[0] === 'quick'
const isAll = words.length === 0
const isChecked = isAll || isQuick
const named = words.flatMap((word) => (Object.hasOwn(lanes, word) ? lanes[word] : [word]))
const files = filesOf(isAll ? ['test'] : named)

if (files === undefined || files.length === 0) {
  process.stderr.write(
    `npm test takes files or folders of tests, or one of ${Object.keys(lanes).join(', ')}; got "${words.join(' ')}". Nothing was run.\n`,
  )
  process.exit(2)
}
await prepareOrExit({ forTests: true })
const checked = isChecked ? beginChecks({ isQuick }) : () => true
if (!isQuick) await findTestTools()
const hasPassed = await runFiles(files, { twice: isAll })
const isFine = await checked()
if (hasPassed && !isAll) {
  const left = isChecked ? 'other files' : 'types, style and other files'
  process.stdout.write(`# Left out are ${left}; npm test runs all.\n`)
}
process.exit(hasPassed && isFine ? 0 : 1)
