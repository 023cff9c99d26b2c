import type { Test } from 'tap'
import { quotasContract } from '../../gateway/contracts/quota.ts'
import type { MovableQuotas } from '../../gateway/contracts/tried-quotas.ts'

/** The contract of `QuotaStore`, with a number of stories that are held against a model. */
export function quotaStoreContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<MovableQuotas>,
  { stories = 60 } = {},
): Promise<unknown> {
  return t.test(`a quota store: ${name}`, async (t) => {
    const test = (name: string, run: () => Promise<void>) => t.test(name, run)
    quotasContract({ test, open: () => open(t), stories })
  })
}
