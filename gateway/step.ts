/** Experimental until 1.1: what a store of an app's own needs beside its database. */
export { quotasOn, step, type QuotaRow, type QuotaTable } from './front/stores/own/quotas.ts'
export { fits, lineOf, type LineFilter } from './front/keys/line.ts'
export { pageBy, type KeyIndex, type Walked } from './front/stores/key-index.ts'
