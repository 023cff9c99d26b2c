// `npm test`, `npm run test:all` (the words `all`, or `all beside` for what it has beside `npm test`), `npm test -- FILE …`.
import { beginChecks } from './checks.mjs'
import { beside, isUsual, seams } from './lanes.mjs'
import { prepareOrExit } from './prepare.mjs'
import { filesOf, runFiles } from './runs.mjs'
import { findTestRedis, findTestTools } from './test-tools.mjs'

const runs = {
  '': { takes: isUsual, checks: ['types'] },
  all: { takes: () => true, checks: ['types', 'style'] },
  'all beside': { takes: (file) => !isUsual(file), checks: ['style'] },
  checks: { takes: () => false, checks: ['types', 'style'] },
  seams: { takes: (file) => seams.includes(file), checks: [] },
}
const words = process.argv.slice(2)
const named = words.join(' ')
const run = runs[named]
const files = run ? filesOf(['test']).filter(run.takes) : filesOf(words)

if (files === undefined || (files.length === 0 && !run)) {
  process.stderr.write(
    `npm test takes files or folders of tests, or one of checks, seams; got "${named}". Nothing was run.\n`,
  )
  process.exit(2)
}
const isInCi = process.env.CI !== undefined
await prepareOrExit({ forTests: true })
const checks = run?.checks ?? []
const checked = beginChecks(checks)
const needsRedis = isInCi || words[0] === 'all'
const lack = files.length > 0 ? await findTestRedis({ isNeeded: needsRedis }) : undefined
if (!files.every(isUsual)) await findTestTools()
const options = { twice: run !== undefined || isInCi, needsRedis: lack === undefined }
const nothing = { isFine: true, passed: 0, unproven: 0 }
const { isFine, passed, unproven } = files.length > 0 ? await runFiles(files, options) : nothing
const isSound = await checked()
process.stdout.write(
  `# ${isFine && isSound ? proven() : 'Not all is as it should be: see above.'}\n`,
)
process.exit(isFine && isSound ? 0 : 1)

/** The last line: what was proven, what wasn't, and what else there is. */
function proven() {
  const claims = `${some(passed, 'claim')} in ${some(files.length, 'file')}`
  const what = [...(files.length > 0 ? [claims] : []), ...checks].join(', ')
  const left = unproven > 0 ? ` Not proven: parts of ${some(unproven, 'file')}. ${lack}` : ''
  const kinds = Object.values(beside).join(', ')
  const more = named === '' ? ` npm run test:all adds style, ${kinds}.` : ''
  return `Proven: ${what}.${left}${more}`
}

function some(count, noun) {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}
