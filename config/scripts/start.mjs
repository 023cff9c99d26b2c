import './check-node.mjs'

const { prepareOrExit } = await import('./prepare.mjs')
const { runServices } = await import('./services.mjs')

await prepareOrExit()
await runServices()
