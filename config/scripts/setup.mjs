import './check-node.mjs'

// All the set-up and nothing else, for a machine that is to run the services: npm run setup -- --production
const { prepareOrExit, withoutDevelopment } = await import('./prepare.mjs')

const words = process.argv.slice(2)
if (words.some((word) => word !== '--production')) {
  process.stderr.write(`npm run setup takes nothing but --production, got "${words.join(' ')}".\n`)
  process.exit(2)
}
await prepareOrExit(() => (words.length > 0 ? withoutDevelopment() : undefined))
