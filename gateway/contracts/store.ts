import type { QuotaStore } from '../front/limits/store.ts'
import type { OwnStores } from '../front/stores/own/stores.ts'
import type { Contract } from './contract.ts'
import { countsContract } from './counts.ts'
import { documentsContract } from './documents.ts'
import { keysContract } from './keys.ts'
import { listsContract } from './lists.ts'
import { messagesContract } from './messages.ts'
import { quotasContract } from './quota.ts'

type Shelves = Pick<OwnStores, 'keys' | 'quotas' | 'counts' | 'lists' | 'documents' | 'messages'>

/** Two stores on one empty database, as two processes have them, by a clock that a test moves. */
export type TwoStores = Readonly<{
  first: Shelves
  second: Shelves
  setTime: (ms: number) => void
  close: () => Promise<void>
}>

/** All promises of a store of an app's own: its six shelves. `stories` are those that each model of quotas is tried with. */
export function storeContract({
  test,
  open,
  stories,
}: Contract<TwoStores> & Readonly<{ stories?: number }>): void {
  const named = (name: string) => (promise: string, run: () => Promise<void>) =>
    test(`${name}: ${promise}`, run)
  const shelf = <Name extends keyof Shelves>(name: Name) => ({
    test: named(name),
    open: async () => {
      const { first, second, ...rest } = await open()
      return { ...rest, first: first[name], second: second[name] }
    },
  })
  keysContract(shelf('keys'))
  countsContract(shelf('counts'))
  listsContract(shelf('lists'))
  documentsContract(shelf('documents'))
  messagesContract(shelf('messages'))
  const quotas = shelf('quotas')
  quotasContract({
    ...quotas,
    stories,
    open: async () => {
      const { first, second, ...rest } = await quotas.open()
      let reopened = 0
      // The other process knows what is stored, and nothing else.
      const reopen = (): Promise<QuotaStore> =>
        Promise.resolve(reopened++ % 2 === 0 ? second : first)
      return { ...rest, store: first, reopen }
    },
  })
}
