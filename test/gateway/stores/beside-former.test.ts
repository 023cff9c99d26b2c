import t from 'tap'
import { quotaStoreContract } from '../../contracts/quota.ts'
import { seeded } from '../../support/seeded.ts'
import { movableQuotas } from '../../support/redis-stores.ts'
import { startRedis } from '../../support/redis.ts'

const { url } = await startRedis(t)

// An upgrade begins and ends with any call: what is counted stays the same.
const random = seeded(11)
const format = {
  get isBesideFormer() {
    return random(10) < 7
  },
  requireOwn: () => Promise.resolve(),
}

void quotaStoreContract(t, 'redis, while an upgrade is under way', (t) =>
  movableQuotas(t, { url }, { format }),
)
