import './check-node.mjs'

const { prepareOrExit } = await import('./prepare.mjs')

const { findRedis } = await import('./redis.mjs')

process.env.REDIS_SERVER_BIN = await prepareOrExit(findRedis)
await import('../../build/test/bench/main.js')
