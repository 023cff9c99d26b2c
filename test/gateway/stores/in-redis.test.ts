import t from 'tap'
import { contractsInRedis } from '../../contracts/in-redis.ts'
import { startRedis } from '../../support/redis.ts'

const { url } = await startRedis(t)

contractsInRedis(t, 'redis, a single server', { url })
