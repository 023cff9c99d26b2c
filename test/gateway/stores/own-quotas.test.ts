import t from 'tap'
import type { QuotaStore } from '../../../gateway/front/limits/store.ts'
import { quotasOn } from '../../../gateway/step.ts'
import { quotaStoreContract } from '../../contracts/quota.ts'
import { quotaTable, versionsOnly } from '../../support/own-store.ts'

void quotaStoreContract(t, 'in a table of an app’s own', () => {
  let now = 0
  const clock = () => now
  const [table, documents] = [quotaTable(clock), versionsOnly(clock)]
  const stores: QuotaStore[] = []
  const open = () => {
    const store = quotasOn(table, documents)
    stores.push(store)
    return Promise.resolve(store)
  }
  const close = async () => void (await Promise.all(stores.map((store) => store.close())))
  return open().then((store) => ({ store, setTime: (ms) => (now = ms), reopen: open, close }))
})
