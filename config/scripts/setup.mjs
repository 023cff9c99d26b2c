// The set-up of a machine that is to run the services, and nothing else: npm run setup
import { prepareOrExit } from './prepare.mjs'

const words = process.argv.slice(2)
if (words.length > 0) {
  process.stderr.write(`npm run setup takes nothing, got "${words.join(' ')}".\n`)
  process.exit(2)
}
await prepareOrExit()
