import t from 'tap'
import { contractsInRedis, mainContractsInRedis } from '../contracts/in-redis.ts'
import { startCluster, startSentinel } from '../support/redis.ts'

const [{ nodes }, { sentinel, name }] = await Promise.all([startCluster(t), startSentinel(t)])

contractsInRedis(t, 'redis, a Cluster', { cluster: nodes })

mainContractsInRedis(t, 'redis, found by Sentinel', { sentinels: [sentinel], name })
