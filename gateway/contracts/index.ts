/** Experimental until 1.1: what a store of an app's own promises, as tests. */
export type { Contract } from './contract.ts'
export { countsContract, type TwoCounts } from './counts.ts'
export { documentsContract, type TwoDocuments } from './documents.ts'
export { keysContract, type TwoKeys } from './keys.ts'
export { listsContract, type TwoLists } from './lists.ts'
export { messagesContract, type TwoMessages } from './messages.ts'
export { quotasContract } from './quota.ts'
export type { MovableQuotas } from './tried-quotas.ts'
