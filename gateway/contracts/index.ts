/** Experimental until 1.1: what a store of an app's own promises, as tests. */
export { countsContract, type TwoCounts } from './counts.ts'
export { documentsContract, type TwoDocuments } from './documents.ts'
export { messagesContract, type TwoMessages } from './messages.ts'
export type { Contract } from './contract.ts'
