import t from 'tap'
import { quotasOn } from '../../../gateway/step.ts'
import { quotaStoreContract } from '../../contracts/quota.ts'
import { quotaTable, versionsOnly } from '../../support/own-store.ts'

void quotaStoreContract(t, 'in a table of an app’s own', (t) => {
  let now = 0
  const clock = () => now
  const [table, documents] = [quotaTable(clock), versionsOnly(clock)]
  const open = () => {
    const store = quotasOn(table, documents)
    t.teardown(() => store.close())
    return Promise.resolve(store)
  }
  return open().then((store) => ({ store, setTime: (ms) => (now = ms), reopen: open }))
})
