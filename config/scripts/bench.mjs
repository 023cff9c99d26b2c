import './check-node.mjs'

const { prepareOrExit } = await import('./prepare.mjs')

await prepareOrExit()
await import('../../build/test/bench/main.js')
