import './check-node.mjs'

const { prepareOrExit } = await import('./prepare.mjs')
const { findRedis } = await import('./redis.mjs')
const { findReference } = await import('./references.mjs')
const { findStacks } = await import('./stacks.mjs')

process.env.REDIS_SERVER_BIN = await prepareOrExit(findRedis)
process.env.BENCH_NGINX = await findReference('nginx')
process.env.BENCH_NGINX_LUA = await findReference('nginx-lua')
process.env.BENCH_HAPROXY = await findReference('haproxy')
process.env.BENCH_CADDY = await findReference('caddy')
process.env.BENCH_STACKS = findStacks()
await import('../../build/test/bench/main.js')
